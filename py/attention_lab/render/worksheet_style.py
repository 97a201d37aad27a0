"""The look of worksheets, as a part of the page's style sheet and inside a worksheet saved as a file of its own."""

STYLE = """
.sheet { box-sizing: border-box; max-width: 190mm; margin: 0 auto 12mm; padding: 8mm 0; font: 15px/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums lining-nums; border-bottom: 1px solid #999; }
.sheet header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 2mm 8mm; }
.sheet h2 { margin: 0; font: 600 24px/1.25 Palatino, "Noto Serif", Georgia, serif; }
.sheet h3 { margin: 0 0 1mm; font: 600 17px/1.25 Palatino, "Noto Serif", Georgia, serif; }
.sheet p { margin: 0 0 2mm; }
.sheet-name span { display: inline-block; width: 45mm; border-bottom: 1px solid; }
.sheet-name span + span { width: 25mm; }
.sheet-given { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 3mm 10mm; margin: 2mm 0 5mm; }
.sheet-steps { display: grid; grid-template-columns: repeat(auto-fit, minmax(80mm, 1fr)); gap: 6mm 8mm; }
.sheet-step, .sheet-table { break-inside: avoid; }
.sheet-table { border-collapse: collapse; font-size: 15px; }
.sheet-table caption { caption-side: top; text-align: left; padding-bottom: 1mm; }
.sheet-table th { border: 0; padding: 0 2mm; font-weight: 400; text-align: center; background: none; color: #444; position: static; }
.sheet-table td { min-width: 12mm; height: 8.5mm; padding: 0 1.5mm; text-align: center; border: 1px solid #888; background: none; position: static; }
.sheet-given .sheet-table td { min-width: 9mm; height: 7mm; }
.sheet-table thead td { border: 0; min-width: 0; height: auto; }
.sheet-wide .sheet-table { font-size: 13px; }
.sheet-wide .sheet-table td { min-width: 10mm; height: 7.5mm; padding: 0 0.5mm; }
.sheet-wide .sheet-table th { padding: 0 1mm; }
.sheet-table thead th { line-height: 1.2; }
.sheet-wide .sheet-table thead td { min-width: 0; height: auto; }
.sheet-answer { font-weight: 600; }
.sheet-powers { font-variant-numeric: tabular-nums; }
.sheet footer { margin-top: 6mm; padding: 0; border: 0; font-size: 11px; color: inherit; overflow-wrap: anywhere; }
.sheet footer a { color: inherit; }
.sheet-table caption.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media print {
  @page { margin: 12mm; }
  .sheet { font-size: 13px; }
  .sheet h2 { font-size: 21px; }
  .sheet h3 { font-size: 15px; }
  .sheet p { margin-bottom: 1mm; }
  .sheet-table { font-size: 13px; }
  .sheet-steps .sheet-table tbody td { height: 7.5mm; }
  .sheet-wide .sheet-steps .sheet-table tbody td { height: 6.6mm; }
  .sheet-given { gap: 2mm 6mm; }
  .sheet-given .sheet-table td { height: 5.5mm; min-width: 8mm; }
  .sheet-given { margin: 1mm 0 3mm; }
  .sheet-steps { gap: 4mm 8mm; }
  .sheet footer { margin-top: 4mm; font-size: 10px; }
  .sheet { max-width: none; margin: 0; padding: 0; border: 0; break-after: page; color: #000; }
  .sheet:last-child { break-after: auto; }
  .sheet footer { display: block !important; }
  .sheet footer a { text-decoration: none; }
}
"""
