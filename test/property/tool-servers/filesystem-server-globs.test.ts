// Globs of the filesystem server, which match a name at any depth if they have no slash. The properties of
// all path globs are in test/property/libs/globs.

import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { compileGlobs } from '../../../tool-servers/filesystem/paths/glob.ts';
import { pathGlob, somePath } from '../../fixtures/globs/path-globs.ts';

test('a glob without a slash matches names at any depth and one with a slash matches paths, as in picomatch', () => {
  fc.assert(
    fc.property(pathGlob, somePath, (pattern, path) => {
      const options = { dot: true, noextglob: true, nonegate: true, basename: !pattern.includes('/') };
      expect(compileGlobs([pattern])(path)).toBe(picomatch.isMatch(path, pattern, options));
    }),
  );
});
