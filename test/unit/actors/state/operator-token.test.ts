import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { StateFolderError } from '../../../../actors/state/folder-access.ts';
import { findOperatorToken, openOperatorToken } from '../../../../actors/state/operator-token.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';

const TOKEN = /^agop_[\w-]{43}$/;
let folder = '';
const file = () => join(folder, 'operator-token');

beforeEach(() => {
  folder = newFolder('actor-gateway-token-');
});

describe('the operator token', () => {
  test('is created once, for its owner only, and stays the same after a restart', () => {
    const { token, replaced } = openOperatorToken(folder);
    expect(token).toMatch(TOKEN);
    expect(replaced).toBeUndefined();
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(openOperatorToken(folder)).toEqual({ token, replaced: undefined });
    expect(findOperatorToken(folder)).toBe(token);
    expect(readdirSync(folder)).toEqual(['operator-token']);
  });

  test('changes after its file was removed', () => {
    const { token } = openOperatorToken(folder);
    rmSync(file());
    expect(findOperatorToken(folder)).toBeUndefined();
    expect(openOperatorToken(folder).token).not.toBe(token);
  });

  test.each([0o640, 0o604, 0o666, 0o620])('is replaced if other users have permissions on it: %o', (mode) => {
    const { token } = openOperatorToken(folder);
    chmodSync(file(), mode);
    expect(findOperatorToken(folder)).toBeUndefined();
    const reopened = openOperatorToken(folder);
    expect(reopened.replaced).toBe('other users had access to it');
    expect(reopened.token).not.toBe(token);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test('is replaced if the file contains another text', () => {
    for (const text of ['', 'x', 'agop_short', `agop_${'a'.repeat(44)}`, `agop_${'a'.repeat(42)}\n\nx`]) {
      writeFileSync(file(), text, { mode: 0o600 });
      expect(openOperatorToken(folder).replaced).toBe('it did not contain a token');
    }
  });

  test('is never read or written through a symbolic link', () => {
    const target = join(folder, 'elsewhere');
    const chosen = `agop_${'a'.repeat(43)}`;
    writeFileSync(target, chosen, { mode: 0o600 });
    symlinkSync(target, file());
    expect(findOperatorToken(folder)).toBeUndefined();
    const { token, replaced } = openOperatorToken(folder);
    expect(replaced).toBe('it was a symbolic link');
    expect(token).not.toBe(chosen);
    expect(lstatSync(file()).isSymbolicLink()).toBe(false);
    expect(readFileSync(target, 'utf8')).toBe(chosen);
  });

  test('replaces a pipe without waiting for its writer', () => {
    execFileSync('mkfifo', [file()]);
    expect(openOperatorToken(folder).replaced).toBe('it was not a regular file');
    expect(findOperatorToken(folder)).toMatch(TOKEN);
  });

  test('is not created if its path is a folder, and the error names the state folder', () => {
    mkdirSync(file());
    expect(() => openOperatorToken(folder)).toThrow(StateFolderError);
    expect(() => openOperatorToken(folder)).toThrow(folder);
  });

  test('leaves no descriptor open', () => {
    openOperatorToken(folder);
    findOperatorToken(folder);
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        return [];
      }
    });
    expect(open.filter((path) => path.startsWith(folder))).toEqual([]);
  });
});
