// Preloaded (--import) into a gateway to profile allocations by location. Collected objects are included,
// unlike with --heap-prof of Node. Writes the profile to PROFILE_DIR on exit.

import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const session = new Session();
session.connect();
session.post('HeapProfiler.startSampling', {
  // Average number of bytes between two samples; Node's default.
  samplingInterval: 32_768,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
});
process.on('exit', () => {
  session.post('HeapProfiler.stopSampling', (_, { profile }) => {
    const folder = process.env.PROFILE_DIR ?? '.';
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `allocations.${process.pid}.heapprofile`), JSON.stringify(profile));
  });
});
