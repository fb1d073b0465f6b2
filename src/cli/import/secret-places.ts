// Where secrets stand in the entry of a server, as people write them into the files of clients: values of variables and
// headers by their names, options such as `--api-key VALUE`, headers that are given in arguments, passwords and keys in
// addresses, and what looks like the token of a known service wherever it stands.

import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { knownTokens } from '../../../config/reader/key-forms.ts';

/** A part of a text that is to be taken out, with the name that the variable in its place might have. */
interface Secret {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** Gives the text in which every secret has been replaced; `hide` gives what stands in its place. */
export type Hide = (value: string, name: string, isOfServer: boolean) => string;

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const opaque = `(?=[\\w=]*\\d[\\w=]*\\d[\\w=]*\\d)(?=[\\w=]*[A-Za-z])[\\w=]{20,}`;

/** Of an address: the password before the host, parameters by their names, and parts that are nothing but signs. */
const inAddresses = [
  { pattern: /\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:([^\s/?#@]+)@/gi, name: 'PASSWORD' },
  { pattern: /[?&;]([\w.-]+)=([^&;#\s]+)/g, name: undefined },
  { pattern: new RegExp(`(?<=[:/\\w])/(${uuid}|${opaque})(?=[/?#\\s]|$)`, 'g'), name: 'URL_KEY' },
];

/** The text without what looks like a secret in it. References are left alone. */
export function withoutSecrets(text: string, hide: Hide): string {
  const found: Secret[] = [];
  for (const match of text.matchAll(knownTokens)) found.push(span(match.index, match[0], 'TOKEN'));
  for (const { pattern, name } of inAddresses) {
    if (!text.includes('://')) break;
    for (const match of text.matchAll(pattern)) {
      const value = match.at(-1) ?? '';
      const key = match[1] ?? '';
      const isOpaque = new RegExp(`^(?:${uuid}|${opaque})$`).test(value);
      if (name === undefined && !isCredentialName(key) && !isOpaque) continue;
      found.push(span(match.index + match[0].lastIndexOf(value), value, name ?? key));
    }
  }
  const plain = found.filter(({ start, end }) => !text.slice(start, end).includes('${'));
  return plain
    .sort((a, b) => a.start - b.start)
    .filter(({ start }, index, all) => all.slice(0, index).every(({ end }) => end <= start))
    .reduceRight((rest, { start, end, name }) => {
      return rest.slice(0, start) + hide(rest.slice(start, end), name, true) + rest.slice(end);
    }, text);
}

const span = (start: number, value: string, name: string): Secret => ({
  start,
  end: start + value.length,
  name,
});

/** A value that stands under a name. */
export function hiddenUnder(name: string, value: string, hide: Hide, isOfServer: boolean): string {
  if (value === '' || value.includes('${') || /^(?:true|false)$/i.test(value) || !isCredentialName(name))
    return withoutSecrets(value, hide);
  return hide(value, name, isOfServer);
}

/** A header: what stands before the credentials says how they are meant. */
export function hiddenHeader(header: string, value: string, hide: Hide): string {
  const isCredential = /^(?:proxy-)?authorization$|^cookie$/i.test(header);
  if (!isCredential) return hiddenUnder(header.replace(/^x-/i, ''), value, hide, true);
  const [, scheme = '', credentials = value] = /^([A-Za-z][\w-]*\s+)(\S.*)$/.exec(value) ?? [];
  if (credentials === '' || credentials.includes('${')) return withoutSecrets(value, hide);
  return scheme + hide(credentials, /^cookie$/i.test(header) ? 'COOKIE' : 'TOKEN', true);
}

const headerOptions = /^(?:-H|--headers?)$/;

/** Arguments: an option may have its value behind `=`, or in the next one. */
export function hiddenArguments(args: readonly string[], hide: Hide): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    const [, option = '', value = ''] = /^(--?[\w-]+)=(.*)$/s.exec(arg) ?? [];
    if (headerOptions.test(before)) return headerLine(arg, hide);
    if (headerOptions.test(option)) return `${option}=${headerLine(value, hide)}`;
    if (option !== '') return `${option}=${hiddenUnder(option.replace(/^-+/, ''), value, hide, true)}`;
    const [, name = '', assigned = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(arg) ?? [];
    if (name !== '') return `${name}=${hiddenUnder(name, assigned, hide, false)}`;
    if (/^--?[A-Za-z]/.test(before) && !arg.startsWith('-'))
      return hiddenUnder(before.replace(/^-+/, ''), arg, hide, true);
    return withoutSecrets(arg, hide);
  });
}

function headerLine(line: string, hide: Hide): string {
  const [, name = '', gap = '', value = ''] = /^([\w-]+)(:\s*)(.*)$/s.exec(line) ?? [];
  return name === '' ? withoutSecrets(line, hide) : name + gap + hiddenHeader(name, value, hide);
}
