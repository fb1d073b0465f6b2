// The version of this program, as package.json has it; esbuild puts it into the bundle.

import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;
