// Translates references in clients' files into our syntax: `${env:NAME}` becomes `${NAME}`,
// `${input:some-id}` becomes `${SOME_ID}`, and folder variables of editors become the folder paths.

import { homedir } from 'node:os';
import { basename, sep } from 'node:path';
import type { Dialect, Inputs } from './dialect.ts';

interface Translated {
  readonly text: string;
  /** Reason and remedy if a reference cannot be translated. */
  readonly fault?: string;
}

/** Variables that only make sense in the editor. */
const editorsOnly =
  /^(?:file|fileBasename|fileBasenameNoExtension|fileDirname|fileExtname|relativeFile|relativeFileDirname|lineNumber|columnNumber|selectedText|execPath|extensionInstallFolder|defaultBuildTask|cwd)$|^(?!env:|input:)[A-Za-z]+:(?!-)/;

/** Returns an input's variable name. */
export function variableOfInput(id: string): string {
  const name = id.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
  return /^[A-Z_]/.test(name) ? name : `_${name}`;
}

/** Translates the references in a text. */
export function translateReferences(text: string, dialect: Dialect): Translated {
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
  const shownReference = /^[\w:.-]{1,60}$/.test(name) ? `\${${name}}` : `\${…}`;
  return {
    text: '',
    fault: `${shownReference} is only available in the editor; write the value, or \${NAME} for a variable`,
  };
}

const outsideOfProjects = (name: string) =>
  `\${${name.split(':', 1)[0]}} needs a project folder, and this file is not in a project (such as PROJECT/.vscode/mcp.json); write the path`;

function defaultOf(id: string, inputs: Inputs): string {
  const text = inputs.get(id) ?? '';
  return text === '' || /\}|\$\{/.test(text) ? '' : `:-${text}`;
}
