"""Write the 500 sentences of `sentences.txt`: `python make_sentences.py`. The same ones every time; all are ours.

Half come from patterns over word lists, so that many words meet; the rest are written to be awkward for a tokenizer.
"""

from __future__ import annotations

import random
from pathlib import Path

PEOPLE = """
my sister
the old teacher
Priya
Mr. Okafor
our neighbour
a tired nurse
Zoë
the chief engineer
Tomasz
nobody
everyone in Reykjavík
the mathematician
Dr. Nguyen
their grandmother
a Brazilian goalkeeper
the accountant
""".strip().split("\n")
ACTS = """
repaired
photographed
misunderstood
weighed
catalogued
forgot
translated
unwrapped
overestimated
painted
borrowed
dismantled
recommended
sketched
polished
auctioned
rediscovered
watered
microwaved
alphabetised
""".strip().split("\n")
THINGS = """
the bicycle
seventeen postcards
an umbrella
the differential equation
a bowl of noodles
the lighthouse
her violin
two satellites
the encyclopaedia
a thermometer
the crumpled invoice
an ultraviolet lamp
the hedgehog
some marmalade
a grandfather clock
the neural network
its warranty
an origami crane
""".strip().split("\n")
PLACES = """
near the harbour
in Kathmandu
behind the supermarket
on the third floor
under a chestnut tree
at the conference
between two rivers
inside the greenhouse
along the motorway
by candlelight
in the laboratory
on a rainy platform
""".strip().split("\n")
TIMES = """
yesterday
before breakfast
in 1987
every other Wednesday
at 6:45 p.m.
during the eclipse
twice
last autumn
without hesitation
for the umpteenth time
in the twenty-first century
on 3 March
""".strip().split("\n")
REASONS = """
because it was raining
although nobody had asked
so that the children could sleep
since the battery was flat
whenever the phone rang
until the paint dried
as if nothing had happened
unless somebody objected
""".strip().split("\n")
PATTERNS = (
    "{Person} {act} {thing} {place} {time}.",
    "{Time}, {person} {act} {thing} {reason}.",
    "Why has {person} never {act} {thing} {place}?",
    "{Thing} that {person} {act} {time} stood {place}.",
    "“{Person},” said {other}, “{act} {thing} {time}!”",
    "{Person} and {other} {act} {thing}; {third} watched {place}, {reason}.",
)

AWKWARD = """
The cat sat because it was tired.
The cat sat because it was flat.
the cat sat on the mat because the cat was tired
It's a dog's life, isn't it?
They'd've gone if they could've.
rock 'n' roll isn't dead
Don't, won't, can't, shan't!
We paid $1,234.56 (plus 20% tax) on 2024-02-29.
3.14159 is not 22/7, but |3.14159 - 22/7| < 0.0013.
E = mc^2, a_{ij} = b_i * c_j, and f(x) := x**2 + 1
Call me at +44 20 7946 0018 or mail me@example.org.
See https://example.org/a/b?c=d&e=f#g for details.
def attend(q, k, v): return softmax(q @ k.T / sqrt(d)) @ v
The naïve café façade cost a résumé's worth of coöperation.
Crème brûlée, jalapeños, smörgåsbord and piñata
Ångström, Gödel, Erdős, Poincaré, Łukasiewicz
Straße, Æsir, Þór, œuvre, søster
El Niño y la niña comieron ñoquis en Coruña.
Où est passée la clé du garçon très gêné ?
Der Bär läuft über die große Brücke.
Il y a là-bas un très vieux hôtel.
Supercalifragilisticexpialidocious is not in any vocabulary.
pneumonoultramicroscopicsilicovolcanoconiosis
antidisestablishmentarianism and floccinaucinihilipilification
hippopotomonstrosesquippedaliophobia frightens me
a b c d e f g h i j k l m n o p q r s t u v w x y z
A B C D E F G H I J K L M N O P Q R S T U V W X Y Z
0 1 2 3 4 5 6 7 8 9 10 100 1000 10000 123456789
! " # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~
...and then... nothing.
wait — what – really ‒ no ― yes
state-of-the-art, mother-in-law, up-to-date, e-mail
tabs\there\tand\tthere
   spaces    everywhere
UPPER CASE SHOUTING IS LOWERED
MiXeD cAsE tOo
iPhone, eBay, LaTeX, PyTorch and JavaScript
the 1st, 2nd, 3rd, 4th, 21st and 100th
10am, 5pm, 20kg, 30°C, 5km/h
H2O, CO2, C6H12O6 and NaCl
the kitten, the puppy and the foal
kittens purring, puppies yapping, foals whinnying
unhappiness unhappily unhappier unhappiest
redo undo misdo overdo outdo
running runner runs ran
tokenization tokenizers tokenized untokenizable
attention is all you need
Scaled dot-product attention divides by the square root of the dimension.
queries, keys and values; heads, layers and residuals
softmax(QK^T/sqrt(d_k))V
a heatmap of attention weights
The trophy did not fit in the suitcase because it was too big.
The trophy did not fit in the suitcase because it was too small.
The bank by the river closed the bank account.
Time flies like an arrow; fruit flies like a banana.
Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo.
The horse raced past the barn fell.
Colorless green ideas sleep furiously.
zzzzzzzzzz qqqqqqqqq xkcd
asdf jkl; qwerty
lol omg btw imho
Hmm, uh-huh, mm-hmm, shh!
C'est la vie, mon ami.
Veni, vidi, vici.
Æthelred the Unready
1/2 cup + 3/4 tsp
50–60% of A&E visits
#hashtag @mention /r/subreddit
C:\\Users\\me\\file.txt
~/bin/run.sh --verbose | tee log.txt
<b>bold</b> & <i>italic</i>
“curly” ‘quotes’ and "straight" 'ones'
«guillemets» and „low quotes“
em—dash without spaces
ellipsis… character
€5, £6, ¥7 and 8 ¢
§3.2.1 says √d, not d²
α, β, γ and λ are Greek
x ≤ y ≠ z ≈ w
good morning 你好 world
добрый день means good day
Tokyo is 東京 in Japanese
the\u00a0non-breaking\u00a0space
zero\u200bwidth\u200bspace
soft\u00adhyphen
e\u0301 combining accent
ﬁrst ligature
Ｆｕｌｌ ｗｉｄｔｈ
""".strip("\n").split("\n")


def sentences() -> list[str]:
    """500 different sentences, one line each."""
    dice = random.Random(11)
    made = list(AWKWARD)
    seen = set(made)
    while len(made) < 500:
        first, other, third = dice.sample(PEOPLE, 3)
        thing, time = dice.choice(THINGS), dice.choice(TIMES)
        sentence = dice.choice(PATTERNS).format(
            Person=first[0].upper() + first[1:], person=first, other=other, third=third, act=dice.choice(ACTS),
            thing=thing, Thing=thing[0].upper() + thing[1:], place=dice.choice(PLACES), time=time,
            Time=time[0].upper() + time[1:], reason=dice.choice(REASONS),
        )  # fmt: skip
        if sentence not in seen:
            seen.add(sentence)
            made.append(sentence)
    return made


if __name__ == "__main__":
    Path(__file__).with_name("sentences.txt").write_text("\n".join(sentences()) + "\n", encoding="utf-8")
