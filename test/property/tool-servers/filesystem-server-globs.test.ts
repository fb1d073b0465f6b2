// What the filesystem server makes of a glob beside what all globs of paths are (test/property/libs/globs).

import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { compileGlobs } from '../../../tool-servers/filesystem/paths/glob.ts';
import { pathGlob, somePath } from '../../fixtures/globs/path-globs.ts';

test('a glob without a slash is for the name at any depth, as the usual library has it, and one with a slash for the path', () => {
  fc.assert(
    fc.property(pathGlob, somePath, (pattern, path) => {
      const options = { dot: true, noextglob: true, nonegate: true, basename: !pattern.includes('/') };
      expect(compileGlobs([pattern])(path)).toBe(picomatch.isMatch(path, pattern, options));
    }),
  );
});
