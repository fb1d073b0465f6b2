// Processor time that a call takes in what stands between client and server.

import { interleave } from '../interleave.mjs';
import { ownTargets, rivals } from '../targets.mjs';

export const name = 'call-cost';
export const title = 'Processor time per call';
export const about = `User and system time of the process between client and server, from \`/proc\`, over a run of the same calls,
divided by their number. The time of the upstream and of the load generator is not in it. The fewer connections, the fewer
calls share a turn of the event loop and a system call.`;

export async function* run(bench) {
  const targets = await Promise.all([ownTargets(bench), rivals(bench)]);
  yield* interleave(bench, targets.flat(), [1, 64], async ({ load, cpuSeconds }, connections) => {
    const before = cpuSeconds();
    const { calls } = await load({ connections, seconds: bench.seconds });
    const value = ((cpuSeconds() - before) * 1e6) / calls;
    return [{ column: `µs per call at ${connections}`, value, unit: 'µs' }];
  });
}
