// The names of tools towards a model: the tool's own where no other has it, else `server__tool`. Providers take letters, digits, `_`
// and `-`, at most 64 of them, and one wants a letter or `_` first; whatever does not fit is written in those, with a digest of
// what it stands for.
//
// TN1  every tool has a name that providers take, and no two have the same.
// TN2  the names depend on which tools there are, and not on their order: the same servers give the same names.

interface Named {
  readonly server: string;
  readonly tool: string;
}

const MAX_LENGTH = 64;
const fits = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** In the order of the tools, which differ in server or tool. */
export function toolNames(tools: readonly Named[]): readonly string[] {
  const bare = countOf(tools.map(({ tool }) => tool));
  const full = countOf(tools.map(fullName));
  const names = new Map<Named, string>();
  const taken = new Set<string>();
  const give = (tool: Named, name: string) => {
    names.set(tool, name);
    taken.add(name);
  };
  for (const one of tools) if (bare.get(one.tool) === 1 && fits.test(one.tool)) give(one, one.tool);
  const rest = tools.filter((one) => !names.has(one));
  // A tool may be called what another one is called with its server.
  const isPlain = (name: string) => fits.test(name) && full.get(name) === 1 && !bare.has(name);
  for (const one of rest) if (isPlain(fullName(one))) give(one, fullName(one));
  for (const one of rest.filter((other) => !names.has(other)).sort(byName)) {
    let name = hashedName(one, 0);
    for (let attempt = 1; taken.has(name); attempt += 1) name = hashedName(one, attempt);
    give(one, name);
  }
  return tools.map((one) => names.get(one) ?? '');
}

function fullName({ server, tool }: Named): string {
  return `${server}__${tool}`;
}

function hashedName(named: Named, attempt: number): string {
  const hash = digest(`${named.server}\0${named.tool}\0${attempt}`);
  const clean = fullName(named)
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .replace(/^(?![A-Za-z_])/, '_');
  return `${clean.slice(0, MAX_LENGTH - hash.length - 1)}_${hash}`;
}

function countOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function byName(one: Named, other: Named): number {
  const [first, second] = [`${one.server}\0${one.tool}`, `${other.server}\0${other.tool}`];
  return first < second ? -1 : Number(first > second);
}

/** Eight hexadecimal digits (FNV-1a); equal ones are told apart by whoever asks. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}
