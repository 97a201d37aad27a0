// Attention in plain JavaScript loops, on arrays of rows. The baseline of `build.py bench` for speed, not for precision.
function attend(q, k, v) {
  const n = q.length, m = k.length, d = q[0].length, width = v[0].length;
  const scale = 1 / Math.sqrt(d);
  const scores = [], scaled = [], weights = [], output = [];
  for (let i = 0; i < n; i++) {
    const raw = new Float64Array(m), row = new Float64Array(m), a = new Float64Array(m), o = new Float64Array(width);
    let top = -Infinity;
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += q[i][c] * k[j][c];
      raw[j] = sum;
      row[j] = sum * scale;
      if (row[j] > top) top = row[j];
    }
    let total = 0;
    for (let j = 0; j < m; j++) total += a[j] = Math.exp(row[j] - top);
    for (let j = 0; j < m; j++) {
      a[j] /= total;
      for (let c = 0; c < width; c++) o[c] += a[j] * v[j][c];
    }
    scores.push(raw);
    scaled.push(row);
    weights.push(a);
    output.push(o);
  }
  return { scores, scaled, weights, output };
}
