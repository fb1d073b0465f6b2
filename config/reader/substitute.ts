// `${VAR}` in a string that has already been parsed, so that a value can never inject YAML.
//   ${VAR}           the variable; a fault when it is not set (never silently empty: an empty api_key would
//                    switch authentication off)
//   ${VAR:-default}  the default when the variable is not set or empty, as in a shell; the default is plain text
//   $${              a literal ${
// Any other text after `${` is a fault too, since it is more likely a slip than meant.

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Substitution {
  readonly text: string;
  /** The variables whose value went into the text; defaults are not among them. */
  readonly used: readonly { readonly name: string; readonly value: string }[];
  /** Names of all variables referred to, with a default or without. */
  readonly names: readonly string[];
  readonly faults: readonly Fault[];
}

interface Fault {
  /** Counts the `${` of the input from 0, escaped ones included. */
  readonly reference: number;
  /** Of the variable; '' where it has none. */
  readonly name: string;
  readonly message: string;
  /** How to do without the variable; not to be told of a key, which no file should have. */
  readonly otherwise: string;
  /** The reference is a good one; only this environment does not have the variable. */
  readonly isUnset: boolean;
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{)[^}])*))?\}/y;

/** Replaces every reference in `input` from `env`. */
export function substitute(input: string, env: Environment): Substitution {
  const used: { name: string; value: string }[] = [];
  const names: string[] = [];
  const faults: Fault[] = [];
  let text = '';
  let done = 0;
  let count = 0;
  for (let at = input.indexOf('${'); at !== -1; at = input.indexOf('${', done), count += 1) {
    if (at > done && input[at - 1] === '$') {
      text += `${input.slice(done, at - 1)}\${`;
      done = at + 2;
      continue;
    }
    text += input.slice(done, at);
    reference.lastIndex = at;
    const match = reference.exec(input);
    if (match === null) {
      faults.push({
        reference: count,
        message: `"\${" begins no reference of the form \${NAME} or \${NAME:-default}; write $\${ for a literal \${`,
        name: '',
        otherwise: '',
        isUnset: false,
      });
      text += '${';
      done = at + 2;
      continue;
    }
    const [whole, name = '', fallback] = match;
    names.push(name);
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined && (value === undefined || value === '')) {
      text += fallback;
    } else if (value === undefined) {
      faults.push({
        reference: count,
        message: `the environment variable ${name} is not set; set it`,
        name,
        otherwise: `, or give a default: \${${name}:-default}`,
        isUnset: true,
      });
    } else {
      used.push({ name, value });
      text += value;
    }
    done = at + whole.length;
  }
  return { text: text + input.slice(done), used, names, faults };
}

/**
 * What a shell would replace in a text, and nobody does here: its beginning, and how it is written instead. A `$` further in
 * is left alone, as it may be meant for a shell that is started.
 */
export function shellForm(input: string): { readonly found: string; readonly instead: string } | undefined {
  const variable = /^(?:(?:Bearer|Basic|Token) |[\w-]+=)?\$([A-Z_][A-Z0-9_]*)(?=$|[/:.])/.exec(input)?.[1];
  if (variable !== undefined) return { found: `$${variable}`, instead: `\${${variable}}` };
  return /^(?:[\w-]+=)?~(?:\/|$)/.test(input) ? { found: '~', instead: `\${HOME}` } : undefined;
}

/** The offset of the n-th `${` in `input`, or 0 where the text as written hides it behind an escape. */
export function referenceOffset(input: string, reference: number): number {
  let at = -1;
  for (let count = 0; count <= reference; count += 1) {
    at = input.indexOf('${', at + 1);
    if (at === -1) return 0;
  }
  return at;
}
