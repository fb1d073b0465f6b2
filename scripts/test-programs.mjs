// Programs that the tests need besides Node: a browser for the inspector and the browser tool server, strace for the syncs of
// the store, PostgreSQL for the second storage engine, nginx and network namespaces for clusters. Installs missing programs
// on Debian as root; otherwise prints their names and exits with 1.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

const DEBIAN = '/usr/lib/postgresql';
const debianVersions = () => (existsSync(DEBIAN) ? readdirSync(DEBIAN) : ['15']);

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
      ...debianVersions().map((version) => `/usr/lib/postgresql/${version}/bin/initdb`),
    ],
  },
  {
    package: 'nginx-light',
    for: 'the tests of several gateways behind a load balancer',
    places: ['/usr/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx'],
  },
  {
    package: 'iproute2',
    for: 'the tests of gateways that are cut off',
    places: ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'],
  },
];
const missing = () => programs.filter(({ places }) => !places.some((place) => existsSync(place)));

const wanted = missing().map((program) => program.package);
if (wanted.length > 0 && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
  console.error(`installing ${wanted.join(', ')} for the tests (once) …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...wanted]])
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
}
for (const { package: name, for: use, places } of missing()) {
  console.error(`${use} need one of ${places.join(', ')}: apt-get install ${name}`);
  process.exitCode = 1;
}
