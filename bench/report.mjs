// Formats a measure's samples as Markdown: a table of medians with ranges, and the results of the goals.
// A sample is `{ round, row, column, value, unit }`.
//
// If a goal compares two rows, the ratio is computed per round, because a disturbance of the machine affects
// both rows of a round. The result is the median of these ratios.

/**
 * Returns a measure's tables, and the results of the goals. The measure's `tables` lists prefixes of
 * column names. Each prefix yields a table with the columns that begin with it.
 */
export function reportOf(measure, samples) {
  const goals = (measure.goals ?? []).map((goal) => goalLine(goal, samples));
  const goalList = goals.length === 0 ? '' : `\n\n${goals.join('\n')}`;
  const prefixes = measure.tables ?? [''];
  const tables = prefixes.map((prefix) => table(samples.filter(({ column }) => column.startsWith(prefix))));
  return `${[...tables, ...comparison(measure, samples)].join('\n\n')}${goalList}`;
}

/**
 * Returns a comparison of two builds: the medians of both, and the ratio of the second to the first per
 * round.
 */
export function comparisonReportOf(names, samples) {
  /** Units by pair of row and column. */
  const units = new Map(samples.map(({ row, column, unit }) => [JSON.stringify([row, column]), unit]));
  const lines = [...units].map(([key, unit]) => {
    const [row, column] = JSON.parse(key);
    const [before, after] = [0, 1].map((build) =>
      samples.filter((sample) => sample.build === build && sample.row === row && sample.column === column),
    );
    const ratios = after.map(({ value }, at) => value / before[at].value);
    const cellOf = (buildSamples) => cell(buildSamples.map(({ value }) => value));
    return [row, withUnit(column, unit), cellOf(before), cellOf(after), cell(ratios)];
  });
  const head = ['', '', ...names, 'ratio'];
  return markdown([head, ['---', '---', '--:', '--:', '--:'], ...lines]);
}

/** Returns a table with all rows as multiples of the row `compared.against`, if the measure defines it. */
function comparison({ compared }, samples) {
  if (compared === undefined) return [];
  const { against, columns } = compared;
  const multiples = columns.flatMap((column) => {
    const columnSamples = samples.filter((sample) => sample.column === column);
    /** Values of the row `against`, by round. */
    const bases = new Map(
      columnSamples.flatMap(({ round, row, value }) => (row === against ? [[round, value]] : [])),
    );
    return columnSamples
      .filter(({ round, row }) => row !== against && bases.has(round))
      .map(({ round, row, value }) => ({ row, column, value: value / bases.get(round), unit: '×' }));
  });
  return [`As a multiple of the ${against}:`, table(multiples)];
}

/** Returns the page with a measure's new figures. */
export function replaceFigures(page, { measure, environment, samples }) {
  const figures = `${measure.about}\n\n${reportOf(measure, samples)}\n\n${environmentLine(environment)}`;
  return withFigures(page, measure.name, figures);
}

/** Returns the page with the comparison of two builds. */
export function replaceComparison(page, names, results) {
  const tables = results.map(
    ({ measure, environment, samples }) =>
      `### ${measure.title}\n\n${comparisonReportOf(names, samples)}\n\n${environmentLine(environment)}`,
  );
  return withFigures(page, 'against', tables.join('\n\n'));
}

/** Replaces the text between the two markers of the section `name`. */
function withFigures(page, name, figures) {
  const start = `<!-- figures: ${name} -->\n`;
  const end = '<!-- end of figures -->';
  const from = page.indexOf(start);
  if (from === -1) throw new Error(`the page has no section for the figures of ${name}`);
  const to = page.indexOf(end, from);
  if (to === -1) throw new Error(`the section of ${name} has no end marker`);
  return `${page.slice(0, from + start.length)}\n${figures}\n\n${page.slice(to)}`;
}

function environmentLine({ date, commit, node, cpu, cores, memoryGB, rounds, seconds }) {
  const machine = `${cpu}, ${cores} cores, ${memoryGB} GB`;
  return `*${date}, commit ${commit}, Node ${node.slice(1)},\n${machine}; rounds: ${rounds}, under load ${seconds} s each.*`;
}

function table(samples) {
  const columns = [...new Set(samples.map(({ column }) => column))];
  const rows = [...new Set(samples.map(({ row }) => row))];
  const heads = columns.map((column) => {
    return withUnit(column, samples.find((sample) => sample.column === column).unit);
  });
  const lines = rows.map((row) => [row, ...columns.map((column) => cell(valuesOf(samples, row, column)))]);
  const rule = ['---', ...columns.map(() => '--:')];
  return markdown([['', ...heads], rule, ...lines]);
}

function withUnit(column, unit) {
  return column.includes(unit) ? column : `${column}, ${unit}`;
}

/** Returns a Markdown table. The second line separates the head. */
function markdown(lines) {
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns the median of the values, with minimum and maximum. */
function cell(values) {
  if (values.length === 0) return '';
  const middle = median(values);
  if (values.length === 1) return figure(middle);
  return `${figure(middle)} (${figure(Math.min(...values))}–${figure(Math.max(...values))})`;
}

/** Returns a goal's list item: the goal, and the measured value. */
function goalLine(goal, samples) {
  const { row, column, against, factor, limit, unit, sense } = goal;
  const rivals = [against].flat();
  const rival = rivals.length > 1 ? `the best of ${rivals.join(' and ')}` : against;
  const target = against === undefined ? `${sense} ${limit} ${unit}` : `${sense} ${factor} × ${rival}`;
  const measured = against === undefined ? valuesOf(samples, row, column) : ratios(goal, samples);
  const name = `- ${row}, ${column}: ${target}`;
  if (measured.length === 0) return `${name}: not measured`;
  const middle = median(measured);
  const bound = against === undefined ? limit : factor;
  const isMet = sense === 'at least' ? middle >= bound : middle <= bound;
  const actual = against === undefined ? `${cell(measured)} ${unit}` : `${cell(measured)} ×`;
  return `${name}:\n  **${isMet ? 'met' : 'not met'}**, ${actual}`;
}

/**
 * Returns a ratio per round in which both rows were measured. If `against` has several rows, the best
 * is used.
 */
function ratios({ row, column, against, sense }, samples) {
  const rivals = [against].flat();
  const pickBest = sense === 'at least' ? Math.max : Math.min;
  const rounds = [...new Set(samples.map(({ round }) => round))];
  return rounds.flatMap((round) => {
    const roundSamples = samples.filter((sample) => sample.round === round);
    const ownValues = valuesOf(roundSamples, row, column);
    const rivalValues = rivals.flatMap((rival) => valuesOf(roundSamples, rival, column));
    if (ownValues.length === 0 || rivalValues.length === 0) return [];
    return [median(ownValues) / pickBest(...rivalValues)];
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

/** Formats three significant digits, with thousands separators. */
function figure(value) {
  if (value === 0) return '0';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
