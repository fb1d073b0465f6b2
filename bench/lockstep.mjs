// Two builds through one measure at the same time, step by step: what disturbs the machine disturbs both alike, and of each
// round there is a ratio. Which of them comes first changes with each round.

/** Yields the samples of `run` for each of two benches, with `build` 0 or 1. Both must give the same steps. */
export async function* lockstep(run, benches) {
  const builds = benches.map((bench, build) => ({ build, steps: run(bench) }));
  let round = 0;
  try {
    for (;;) {
      const order = round % 2 === 0 ? builds : [...builds].reverse();
      const taken = [];
      for (const { build, steps } of order) taken.push({ build, ...(await steps.next()) });
      const [one, other] = taken.sort((a, b) => a.build - b.build);
      if (one.done || other.done) {
        if (one.done && other.done) return;
        throw new Error('one build gave more samples than the other');
      }
      if (one.value.row !== other.value.row || one.value.column !== other.value.column)
        throw new Error(`not the same step: ${one.value.row} and ${other.value.row}`);
      round = one.value.round;
      yield { build: 0, ...one.value };
      yield { build: 1, ...other.value };
    }
  } finally {
    await Promise.all(builds.map(({ steps }) => steps.return()));
  }
}
