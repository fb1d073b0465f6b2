// Runs a measure on two builds, for `--against`. The builds alternate step by step, so that disturbances of
// the machine affect both, and the report can compare them within each round. After a step of an odd round,
// the other build runs first.

/**
 * Yields the samples of `run` for both benches, with the index of the bench as `build`. Both must produce the
 * same sequence of rows and columns.
 */
export async function* lockstep(run, benches) {
  const builds = benches.map((bench, build) => ({ build, steps: run(bench) }));
  let round = 0;
  try {
    for (;;) {
      const order = round % 2 === 0 ? builds : [...builds].reverse();
      const results = [];
      for (const { build, steps } of order) results.push({ build, ...(await steps.next()) });
      const [first, second] = results.sort((a, b) => a.build - b.build);
      if (first.done || second.done) {
        if (first.done && second.done) return;
        throw new Error('one build gave more samples than the other');
      }
      if (first.value.row !== second.value.row || first.value.column !== second.value.column)
        throw new Error(`not the same step: ${first.value.row} and ${second.value.row}`);
      round = first.value.round;
      yield { build: 0, ...first.value };
      yield { build: 1, ...second.value };
    }
  } finally {
    await Promise.all(builds.map(({ steps }) => steps.return()));
  }
}
