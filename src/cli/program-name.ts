// What whoever reads a help has to type: the program is called by the name by which it was started, `actor-gateway`,
// `gateway-http` or `gateway-stdio` (with npx where it was npx that found it); else as it was typed, `node dist/main.js`.
//
// Texts of help say `actor-gateway`. This is the one place that says otherwise.

import { basename, isAbsolute, relative, sep } from 'node:path';

const NAMES = ['actor-gateway', 'gateway-http', 'gateway-stdio'];

/** `actor-gateway`, or however else this process was started. */
export function programName(): string {
  const [, script = ''] = process.argv;
  const name = basename(script);
  // Where npm links programs no shell looks, but npx does.
  if (NAMES.includes(name))
    return script.includes(`${sep}node_modules${sep}.bin${sep}`) ? `npx ${name}` : name;
  if (name === 'start.mjs' && process.env.npm_lifecycle_event === 'start') return 'npm start --';
  const fromHere = relative(process.cwd(), script);
  const isInside = fromHere !== '' && !fromHere.startsWith('..') && !isAbsolute(fromHere);
  return `node ${isInside ? fromHere : script}`;
}

/** Whether this process runs gateway-stdio by itself, and not as a command of the whole program. */
export function isStdioProgram(): boolean {
  return /^(gateway-stdio|stdio\.js)$/.test(basename(process.argv[1] ?? ''));
}

/** A text of help with the program named as it was invoked: where a line, or what follows a pipe, begins with it. */
export function asInvoked(text: string): string {
  return text.replace(
    /(^[ \t]*|\| |Usage: )(?:actor-gateway|gateway-http|node dist\/main\.js)(?= |$)/gm,
    (_, before) => {
      return before + programName();
    },
  );
}
