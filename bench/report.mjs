// From samples to Markdown: a table of medians with their spread, and what became of the goals.
//
// A goal that compares two rows is judged round by round, since what disturbs a machine disturbs both alike; the median
// of those ratios counts.

/** The table of one measure and its goals; several tables where it names the beginnings of their columns. */
export function reportOf(measure, samples) {
  const goals = (measure.goals ?? []).map((goal) => goalLine(goal, samples));
  const list = goals.length === 0 ? '' : `\n\n${goals.join('\n')}`;
  const parts = measure.tables ?? [''];
  const tables = parts.map((start) => table(samples.filter(({ column }) => column.startsWith(start))));
  return `${[...tables, ...comparison(measure, samples)].join('\n\n')}${list}`;
}

/**
 * Two builds beside each other, the first of which is what the other is measured against: the medians of both, and the ratio
 * of the second to the first, round by round.
 */
export function againstReportOf(names, samples) {
  const keys = new Map(samples.map(({ row, column, unit }) => [JSON.stringify([row, column]), unit]));
  const lines = [...keys].map(([key, unit]) => {
    const [row, column] = JSON.parse(key);
    const [before, after] = [0, 1].map((build) =>
      samples.filter((sample) => sample.build === build && sample.row === row && sample.column === column),
    );
    const ratio = after.map(({ value }, at) => value / before[at].value);
    const what = column.includes(unit) ? column : `${column}, ${unit}`;
    return [row, what, ...[before, after].map((of) => cell(of.map(({ value }) => value))), cell(ratio)];
  });
  const head = ['', '', ...names, 'ratio'];
  return markdown([head, ['---', '---', '--:', '--:', '--:'], ...lines]);
}

/** Every row of some columns as a multiple of one row, where the measure asks for it with `compared`. */
function comparison({ compared }, samples) {
  if (compared === undefined) return [];
  const { against, columns } = compared;
  const multiples = columns.flatMap((column) => {
    const ofColumn = samples.filter((sample) => sample.column === column);
    const bases = new Map(
      ofColumn.flatMap(({ round, row, value }) => (row === against ? [[round, value]] : [])),
    );
    return ofColumn
      .filter(({ round, row }) => row !== against && bases.has(round))
      .map(({ round, row, value }) => ({ row, column, value: value / bases.get(round), unit: '×' }));
  });
  return [`As a multiple of the ${against}:`, table(multiples)];
}

/** The page with the sections of these measures written anew; the rest of it is left as it is. */
export function rewritten(page, results) {
  return results.reduce((text, { measure, environment, samples }) => {
    const figures = `${measure.about}\n\n${reportOf(measure, samples)}\n\n${environmentLine(environment)}`;
    return withFigures(text, measure.name, figures);
  }, page);
}

/** The page with the figures of two builds beside each other. */
export function rewrittenAgainst(page, names, results) {
  const tables = results.map(
    ({ measure, environment, samples }) =>
      `### ${measure.title}\n\n${againstReportOf(names, samples)}\n\n${environmentLine(environment)}`,
  );
  return withFigures(page, 'against', tables.join('\n\n'));
}

function withFigures(page, name, figures) {
  const start = `<!-- figures: ${name} -->\n`;
  const end = '<!-- end of figures -->';
  const from = page.indexOf(start);
  if (from === -1) throw new Error(`the page has no place for the figures of ${name}`);
  const to = page.indexOf(end, from);
  if (to === -1) throw new Error(`the figures of ${name} have no end`);
  return `${page.slice(0, from + start.length)}\n${figures}\n\n${page.slice(to)}`;
}

function environmentLine({ date, commit, node, cpu, cores, memoryGB, rounds, seconds }) {
  return `*${date}, commit ${commit}, Node ${node.slice(1)}, ${cpu}, ${cores} cores, ${memoryGB} GB; rounds: ${rounds}, under load ${seconds} s each.*`;
}

function table(samples) {
  const columns = [...new Set(samples.map(({ column }) => column))];
  const rows = [...new Set(samples.map(({ row }) => row))];
  const heads = columns.map((column) => {
    const unit = samples.find((sample) => sample.column === column).unit;
    return column.includes(unit) ? column : `${column}, ${unit}`;
  });
  const lines = rows.map((row) => [row, ...columns.map((column) => cell(valuesOf(samples, row, column)))]);
  const rule = ['---', ...columns.map(() => '--:')];
  return markdown([['', ...heads], rule, ...lines]);
}

function markdown(lines) {
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cell(values) {
  if (values.length === 0) return '';
  const middle = median(values);
  if (values.length === 1) return figure(middle);
  return `${figure(middle)} (${figure(Math.min(...values))}–${figure(Math.max(...values))})`;
}

function goalLine(goal, samples) {
  const { row, column, against, factor, limit, unit, sense } = goal;
  const rivals = [against].flat();
  const rival = rivals.length > 1 ? `the best of ${rivals.join(' and ')}` : against;
  const wanted = against === undefined ? `${sense} ${limit} ${unit}` : `${sense} ${factor} × ${rival}`;
  const measured = against === undefined ? valuesOf(samples, row, column) : ratios(goal, samples);
  const name = `- ${row}, ${column}: ${wanted}`;
  if (measured.length === 0) return `${name}: not measured`;
  const middle = median(measured);
  const least = against === undefined ? limit : factor;
  const isMet = sense === 'at least' ? middle >= least : middle <= least;
  const given = against === undefined ? `${cell(measured)} ${unit}` : `${cell(measured)} ×`;
  return `${name}: **${isMet ? 'met' : 'not met'}**, ${given}`;
}

/** One ratio per round in which both rows were measured. `against` may name several rows: the best of them counts. */
function ratios({ row, column, against, sense }, samples) {
  const rivals = [against].flat();
  const pick = sense === 'at least' ? Math.max : Math.min;
  const rounds = [...new Set(samples.map(({ round }) => round))];
  return rounds.flatMap((round) => {
    const here = samples.filter((sample) => sample.round === round);
    const own = valuesOf(here, row, column);
    const theirs = rivals.flatMap((rival) => valuesOf(here, rival, column));
    return own.length === 0 || theirs.length === 0 ? [] : [median(own) / pick(...theirs)];
  });
}

function valuesOf(samples, row, column) {
  return samples.filter((sample) => sample.row === row && sample.column === column).map(({ value }) => value);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three digits that count; thousands with commas. */
function figure(value) {
  if (value === 0) return '0';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
