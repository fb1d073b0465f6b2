// The tests of the inspector need a browser. Finds Chromium or Chrome; on Debian and its like, as root, it is installed
// where there is none. Ends with 1 and says what to do otherwise.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
];
const isThere = () => places.some((place) => existsSync(place));

if (!isThere() && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
  console.error('installing chromium for the browser tests (once) …');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']])
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
}
if (!isThere()) {
  console.error(
    `the browser tests need Chromium or Chrome in one of ${places.join(', ')}: apt-get install chromium`,
  );
  process.exit(1);
}
