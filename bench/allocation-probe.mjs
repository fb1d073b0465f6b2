// Preloaded (--import) into a gateway whose allocations are asked for: what it allocated, by place, with what is
// garbage again; Node's own --heap-prof knows only what is still in use. Written to the folder named by PROFILE_DIR when
// the process ends.

import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const session = new Session();
session.connect();
session.post('HeapProfiler.startSampling', {
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
