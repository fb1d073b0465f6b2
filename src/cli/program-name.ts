// Name of the program in help texts, as the user has to type it: `actor-gateway`, `npx gateway-stdio`, `node
// dist/main.js`. The texts in the code contain `actor-gateway`; `withProgramName` replaces it on output.

import { basename, isAbsolute, relative, sep } from 'node:path';

const NAMES = ['actor-gateway', 'gateway-http', 'gateway-stdio'];

/** Returns the command that started this process. */
export function programName(): string {
  const [, script = ''] = process.argv;
  const name = basename(script);
  // In npm's link folder, npx finds the program, but the shell does not.
  if (NAMES.includes(name))
    return script.includes(`${sep}node_modules${sep}.bin${sep}`) ? `npx ${name}` : name;
  if (name === 'start.mjs' && process.env.npm_lifecycle_event === 'start') return 'npm start --';
  const relativePath = relative(process.cwd(), script);
  const isInside = relativePath !== '' && !relativePath.startsWith('..') && !isAbsolute(relativePath);
  return `node ${isInside ? relativePath : script}`;
}

/** True if this process is the separate program gateway-stdio. */
export function isStdioProgram(): boolean {
  return /^(gateway-stdio|stdio\.js)$/.test(basename(process.argv[1] ?? ''));
}

/** Replaces the program name at line starts, behind a pipe and behind "Usage:". */
export function withProgramName(text: string): string {
  return text.replace(
    /(^[ \t]*|\| |Usage: )(?:actor-gateway|gateway-http|node dist\/main\.js)(?= |$)/gm,
    (_, before) => {
      return before + programName();
    },
  );
}
