// Installs the programs that the tests require besides Node: a browser (inspector, browser tool server),
// strace (syncs of the store), PostgreSQL (second storage engine), nginx and ip (clusters). On Debian as
// root, missing programs are installed. Otherwise they are listed, and the exit code is 1.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/** Folder of Debian's PostgreSQL packages, with a folder per version. */
const DEBIAN = '/usr/lib/postgresql';
// If no version is installed, the path of one version, which the message about missing programs names.
const debianVersions = () => (existsSync(DEBIAN) ? readdirSync(DEBIAN) : ['15']);

/** One of the `places` must exist. */
const programs = [
  {
    package: 'chromium',
    for: 'the browser tests',
    places: [
      '/usr/bin/chromium',
      '/usr/bin/chromium-browser',
      '/usr/bin/google-chrome',
      '/usr/bin/google-chrome-stable',
    ],
  },
  { package: 'strace', for: 'the tests of the store', places: ['/usr/bin/strace', '/usr/local/bin/strace'] },
  {
    package: 'postgresql',
    for: 'the tests of the store on PostgreSQL',
    places: [
      '/usr/local/bin/initdb',
      '/usr/bin/initdb',
      '/opt/homebrew/bin/initdb',
      ...debianVersions().map((version) => `${DEBIAN}/${version}/bin/initdb`),
    ],
  },
  {
    package: 'nginx-light',
    for: 'the tests of several gateways behind a load balancer',
    places: ['/usr/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx'],
  },
  {
    package: 'iproute2',
    for: 'the tests of network partitions',
    places: ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'],
  },
];
const missing = () => programs.filter(({ places }) => !places.some((place) => existsSync(place)));

const missingPackages = missing().map((program) => program.package);
if (missingPackages.length > 0 && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
  console.error(`installing ${missingPackages.join(', ')} for the tests (once) …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...missingPackages]])
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
}
for (const { package: name, for: use, places } of missing()) {
  console.error(`${use} need one of ${places.join(', ')}: apt-get install ${name}`);
  process.exitCode = 1;
}
