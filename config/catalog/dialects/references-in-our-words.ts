// What stands for something else in the texts of clients, written as it is in a catalog: `${env:NAME}` is `${NAME}`,
// `${input:some-id}` the variable SOME_ID, and the words of editors for folders become those folders.

import { homedir } from 'node:os';
import { basename, sep } from 'node:path';
import type { Dialect, Inputs } from './dialect.ts';

interface Translated {
  readonly text: string;
  /** What cannot be said here, and what to do. */
  readonly fault?: string;
}

/** Names of editors that mean nothing outside of one. */
const editorsOnly =
  /^(?:file|fileBasename|fileBasenameNoExtension|fileDirname|fileExtname|relativeFile|relativeFileDirname|lineNumber|columnNumber|selectedText|execPath|extensionInstallFolder|defaultBuildTask|cwd)$|^(?!env:|input:)[A-Za-z]+:(?!-)/;

/** The variable that stands in the place of an input. */
export function variableOfInput(id: string): string {
  const name = id.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
  return /^[A-Z_]/.test(name) ? name : `_${name}`;
}

/** The text in our own words. */
export function inOurWords(text: string, dialect: Dialect): Translated {
  let fault: string | undefined;
  const ours = text.replace(/(?<!\$)\$\{([^}]*)\}/g, (whole, name: string) => {
    const found = replacement(name, dialect);
    if (found === undefined) return whole;
    fault ??= found.fault;
    return found.text;
  });
  const all = dialect.client === 'gemini' ? ours.replace(/(?<!\$)\$([A-Za-z_]\w*)/g, `\${$1}`) : ours;
  return fault === undefined ? { text: all } : { text: all, fault };
}

function replacement(name: string, { workspace, inputs }: Dialect): Translated | undefined {
  const [, variable] = /^env:([A-Za-z_]\w*(?::-.*)?)$/.exec(name) ?? [];
  if (variable !== undefined) return { text: `\${${variable}}` };
  const [, input] = /^input:(.+)$/.exec(name) ?? [];
  if (input !== undefined) return { text: `\${${variableOfInput(input)}${defaultOf(input, inputs)}}` };
  if (/^workspaceFolder(?:$|:|Basename$)/.test(name)) {
    if (workspace === undefined) return { text: '', fault: outsideOfProjects(name) };
    return { text: name.endsWith('Basename') ? basename(workspace) : workspace };
  }
  if (name === 'userHome') return { text: homedir() };
  if (name === 'pathSeparator' || name === '/') return { text: sep };
  if (!editorsOnly.test(name)) return undefined;
  const told = /^[\w:.-]{1,60}$/.test(name) ? `\${${name}}` : `\${…}`;
  return {
    text: '',
    fault: `${told} is replaced by the editor alone; write the value, or \${NAME} for a variable`,
  };
}

const outsideOfProjects = (name: string) =>
  `\${${name.split(':', 1)[0]}} is the folder of a project, and this file lies in none (as PROJECT/.vscode/mcp.json does); write the path`;

function defaultOf(id: string, inputs: Inputs): string {
  const text = inputs.get(id) ?? '';
  return text === '' || /\}|\$\{/.test(text) ? '' : `:-${text}`;
}
