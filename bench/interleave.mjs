// The rounds of a measure under load: first every target is checked and warmed up, then each round measures each
// target in turn, so that what disturbs the machine disturbs all alike.

const warmUp = { connections: 16, seconds: 1 };

/**
 * Yields, for each round, column and target, what `samplesOf(target, column)` gives: `[{ column, value, unit }]`. The
 * targets are ended at the end, however it comes. In a smoke run only the check is made, with as many calls at once as
 * the column has connections, and its samples are the answers that were right.
 */
export async function* interleave(bench, targets, columns, samplesOf) {
  const wanted = targets.filter(({ row }) => bench.isWanted(row));
  try {
    for (const { row, check, load } of wanted) {
      if (bench.isSmoke) continue;
      bench.progress(`checking ${row}`);
      await check({ calls: 400, atOnce: 64 });
      await load(warmUp);
    }
    for (let round = 1; round <= bench.rounds; round += 1)
      for (const connections of columns)
        for (const target of wanted) {
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
  const value = await check({ calls: 3 * connections, atOnce: connections });
  return { column: `answers at ${connections}`, value, unit: 'answers' };
}
