// Runs a measure under load: checks and warms up all targets, then measures them alternately in each round.
// Disturbances of the machine then affect all targets equally.

const warmUp = { connections: 16, seconds: 1 };

/**
 * Yields the samples of each round, entry of `columns` (a number of connections) and target.
 * `samplesOf(target, connections)` measures: `[{ column, value, unit }]`, with a label as `column`. Finally
 * stops the targets, also after an error. A smoke run only checks responses, and yields the number of correct
 * ones.
 */
export async function* interleave(bench, targets, columns, samplesOf) {
  const selected = targets.filter(({ row }) => bench.isWanted(row));
  try {
    for (const { row, check, load } of selected) {
      if (bench.isSmoke) continue;
      bench.progress(`checking ${row}`);
      await check({ calls: 400, concurrency: 64 });
      await load(warmUp);
    }
    for (let round = 1; round <= bench.rounds; round += 1)
      for (const connections of columns)
        for (const target of selected) {
          const samples = bench.isSmoke
            ? [await smokeSample(target, connections)]
            : await samplesOf(target, connections);
          for (const sample of samples) yield { round, row: target.row, ...sample };
        }
  } finally {
    await Promise.all([...new Set(targets.map(({ stop }) => stop))].map((stop) => stop()));
  }
}

async function smokeSample({ check }, connections) {
  const value = await check({ calls: 3 * connections, concurrency: connections });
  return { column: `answers at ${connections}`, value, unit: 'answers' };
}
