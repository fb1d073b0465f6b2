// Recognition of commands that install before they run.

import { expect, test } from 'vitest';
import { launcherOf } from '../../../../../actors/mcp/installs/launcher.ts';

const words = (line: string) => line.split(' ').filter((word) => word !== '');
const found = (line: string) => {
  const [program = '', ...args] = words(line);
  return launcherOf(program, args);
};

test.each([
  ['npx -y @scope/server --port 3', '@scope/server', '-y @scope/server --port 3'],
  ['npx -p one -p two@1 start', 'one two@1', '-p one -p two@1 start'],
  ['npx --package=one -- start', 'one', '--package=one -- start'],
  ['npx --cache=/c --registry=http://r one', 'one', '--cache=/c --registry=http://r one'],
  ['npm exec -y -- one -x', 'one', 'exec -y -- one -x'],
  ['uvx one@1.2.3 --flag', 'one@1.2.3', '--from one@1.2.3 python -c '],
  ['uvx --from git+https://h/x -q start', 'git+https://h/x', '--from git+https://h/x -q python -c '],
  ['uv tool run --python 3.12 one', 'one', 'tool run --python 3.12 --from one python -c '],
  ['pnpm dlx one@2 -v', 'one@2', 'dlx --package=one@2 node -e 0'],
  ['pnpx --package=one start', 'one', '--package=one node -e 0'],
  ['bunx --bun one', 'one', '--bun --package=one node -e 0'],
  ['bun x -p one start', 'one', 'x -p one node -e 0'],
  ['docker run -i --rm -eKEY -v /a:/b --name n img:1 cmd', 'img:1', 'pull img:1'],
  [
    'podman run -it --platform linux/amd64 reg:5000/img',
    'reg:5000/img',
    'pull --platform=linux/amd64 reg:5000/img',
  ],
])('the command %s launches the packages %s, which it installs with %s', (line, packages, installArgs) => {
  const launcher = found(line);
  expect(launcher?.program).toBe(words(line)[0]);
  expect(launcher?.packages.join(' ')).toBe(packages);
  expect(launcher?.installArgs.join(' ')).toBe(installArgs);
});

test.each([
  'node server.js',
  'npm run start',
  'uv run one',
  'uvx --unknown value one',
  'uvx',
  'pnpm start',
  'docker compose up',
  'docker run --unknown value img',
  'docker run --pull=never img',
  'docker run -e',
  'constructor run',
])('the command %s is not recognised as a package launcher', (line) => {
  expect(found(line)).toBeUndefined();
});

test('the packages of an npx command with an unknown option are unknown; the option --cache sets the package cache', () => {
  expect(found('npx --unknown one')).toMatchObject({ packages: [], npm: { cache: undefined } });
  expect(found('npx --cache /c one')).toMatchObject({ packages: ['one'], npm: { cache: '/c' } });
});
