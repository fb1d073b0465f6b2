// Missing programs that --check reports, with real files.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findStartObstacle } from '../../../../src/cli/commands/start-obstacle.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';
import { fakeEntry } from '../../../fixtures/server/fake-server.ts';

const folder = newFolder('unstartable-');
for (const [name, mode] of [
  ['program', 0o755],
  ['text', 0o644],
] as const) {
  writeFileSync(join(folder, name), '#!/bin/sh\n');
  chmodSync(join(folder, name), mode);
}

test.each([
  ['a program on PATH', { command: 'program' }, undefined],
  ['a program by its path', { command: join(folder, 'program') }, undefined],
  [
    'a file that is not executable',
    { command: join(folder, 'text') },
    `${join(folder, 'text')} is not an executable file`,
  ],
  ['a file on PATH that is not executable', { command: 'text' }, 'there is no program text on PATH'],
  ['a folder', { command: folder }, `${folder} is not an executable file`],
  [
    'a program that is not on the PATH of its entry',
    { command: 'program', env: { PATH: '/' } },
    'there is no program program on PATH',
  ],
  [
    'a missing working folder',
    { command: 'program', cwd: join(folder, 'none') },
    `there is no folder ${join(folder, 'none')}`,
  ],
])(
  'the check before the start of a server reports the expected obstacle, if any, for %s',
  (_, fields, why) => {
    expect(findStartObstacle(fakeEntry({ cwd: folder, ...fields }), { PATH: `/nowhere:${folder}` })).toBe(
      why,
    );
  },
);
