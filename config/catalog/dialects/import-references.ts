// Translates references in clients' files into the gateway's syntax: `${env:NAME}` becomes `${NAME}`,
// `${input:some-id}` and a bundle's `${user_config.some_id}` become `${SOME_ID}`, and folder variables become
// the folder paths.

import { homedir } from 'node:os';
import { basename, sep } from 'node:path';
import { bundleVariable } from './bundle-manifest.ts';
import type { Dialect, Inputs } from './dialect.ts';

interface Translated {
  readonly text: string;
  /** Reason and remedy if a reference cannot be translated. */
  readonly fault?: string;
}

/** Variables that only the editor can replace, also with other prefixes, such as `config:` or `command:`. */
const editorsOnly =
  /^(?:file|fileBasename|fileBasenameNoExtension|fileDirname|fileExtname|relativeFile|relativeFileDirname|lineNumber|columnNumber|selectedText|execPath|extensionInstallFolder|defaultBuildTask|cwd)$|^(?!env:|input:)[A-Za-z]+:(?!-)/;

/** OpenCode writes references without a dollar sign. */
const openCodeReference = /(?<!\$)\{(env|file):([^{}\s]+)\}/g;

/** Returns an input's variable name. */
export function variableOfInput(id: string): string {
  const name = id.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
  return /^[A-Z_]/.test(name) ? name : `_${name}`;
}

/** Translates the references in a text. */
export function translateReferences(written: string, dialect: Dialect): Translated {
  let fault: string | undefined;
  const text = dialect.client === 'opencode' ? written.replace(openCodeReference, `\${$1:$2}`) : written;
  const ours = text.replace(/(?<!\$)\$\{([^}]*)\}/g, (whole, name: string) => {
    const found = replacement(name, dialect);
    if (found === undefined) return whole;
    fault ??= found.fault;
    return found.text;
  });
  // These clients also accept `$NAME`, as in a shell.
  const isShellLike = dialect.client === 'gemini' || dialect.client === 'copilot';
  const all = isShellLike ? ours.replace(/(?<!\$)\$([A-Za-z_]\w*)/g, `\${$1}`) : ours;
  return fault === undefined ? { text: all } : { text: all, fault };
}

function replacement(name: string, { client, path, workspace, inputs }: Dialect): Translated | undefined {
  const ofBundle = client === 'bundle' ? bundleVariable(name, path) : undefined;
  if (ofBundle !== undefined) return ofBundle;
  const [, variable] = /^env:([A-Za-z_]\w*(?::-.*)?)$/.exec(name) ?? [];
  if (variable !== undefined) return { text: `\${${variable}}` };
  const [, input] = /^(?:input:|user_config\.)(.+)$/.exec(name) ?? [];
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

/** Returns `:-TEXT` for an input with a default; '' if a reference cannot contain the default. */
function defaultOf(id: string, inputs: Inputs): string {
  const text = inputs.get(id);
  return text === undefined || /\}|\$\{/.test(text) ? '' : `:-${text}`;
}
