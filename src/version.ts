// Version of the program, from package.json; the build inlines it.

import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;
