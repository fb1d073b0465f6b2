// What --check sees of programs that are not there, with real files.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { whyUnstartable } from '../../../../src/cli/commands/unstartable.ts';
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
  ['a file that may not be run', { command: join(folder, 'text') }, `${join(folder, 'text')} is no program`],
  ['such a file on PATH', { command: 'text' }, 'there is no program text on PATH'],
  ['a folder', { command: folder }, `${folder} is no program`],
  [
    'a PATH of its own without it',
    { command: 'program', env: { PATH: '/' } },
    'there is no program program on PATH',
  ],
  [
    'a working folder that is not there',
    { command: 'program', cwd: join(folder, 'none') },
    `there is no folder ${join(folder, 'none')}`,
  ],
])('%s', (_, fields, why) => {
  expect(whyUnstartable(fakeEntry({ cwd: folder, ...fields }), { PATH: `/nowhere:${folder}` })).toBe(why);
});
