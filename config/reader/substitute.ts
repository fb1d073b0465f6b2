// Substitutes references to variables after parsing, in strings: a value cannot inject YAML.
//   ${VAR}           the variable. Unset is an error, never an empty text: an empty api_key would disable
//                    authentication
//   ${VAR:-default}  the default if the variable is unset or empty, as in a shell; the default is plain text
//   $${              a literal ${
// Any other text after `${` is an error, since it is probably a mistake.

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Substitution {
  readonly text: string;
  /** Variables whose values were inserted, without defaults. */
  readonly used: readonly { readonly name: string; readonly value: string }[];
  /** Names of all referenced variables, including those with a default. */
  readonly names: readonly string[];
  readonly faults: readonly SubstitutionFault[];
}

interface SubstitutionFault {
  /** Number of `${` before this one in the input; escaped ones count too. */
  readonly reference: number;
  /** Name of the variable; '' if the reference is invalid. */
  readonly name: string;
  readonly message: string;
  /**
   * Alternative remedy, appended to the message: a default in the reference. The reader omits it for keys,
   * which do not belong in a file.
   */
  readonly otherwise: string;
  /** True if the reference is valid, but the variable is not set. */
  readonly isUnset: boolean;
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{)[^}])*))?\}/y;

/** Replaces all references in `input` with values from `env`. */
export function substitute(input: string, env: Environment): Substitution {
  const used: { name: string; value: string }[] = [];
  const names: string[] = [];
  const faults: SubstitutionFault[] = [];
  let text = '';
  let done = 0;
  let count = 0;
  for (let offset = input.indexOf('${'); offset !== -1; offset = input.indexOf('${', done), count += 1) {
    if (offset > done && input[offset - 1] === '$') {
      text += `${input.slice(done, offset - 1)}\${`;
      done = offset + 2;
      continue;
    }
    text += input.slice(done, offset);
    reference.lastIndex = offset;
    const match = reference.exec(input);
    if (match === null) {
      faults.push({
        reference: count,
        message: `"\${" does not begin a reference \${NAME} or \${NAME:-default}; write $\${ for a literal \${`,
        name: '',
        otherwise: '',
        isUnset: false,
      });
      text += '${';
      done = offset + 2;
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
    done = offset + whole.length;
  }
  return { text: text + input.slice(done), used, names, faults };
}

/**
 * Detects shell syntax at the start, and returns its replacement. Ignores a later `$`, which may be intended
 * for a shell that the program starts.
 */
export function shellForm(input: string): { readonly found: string; readonly instead: string } | undefined {
  const variable = /^(?:(?:Bearer|Basic|Token) |[\w-]+=)?\$([A-Z_][A-Z0-9_]*)(?=$|[/:.])/.exec(input)?.[1];
  if (variable !== undefined) return { found: `$${variable}`, instead: `\${${variable}}` };
  return /^(?:[\w-]+=)?~(?:\/|$)/.test(input) ? { found: '~', instead: `\${HOME}` } : undefined;
}

/** Returns the offset of the n-th `${` in `input`, or 0 if an escape hides it. */
export function referenceOffset(input: string, reference: number): number {
  let offset = -1;
  for (let count = 0; count <= reference; count += 1) {
    offset = input.indexOf('${', offset + 1);
    if (offset === -1) return 0;
  }
  return offset;
}
