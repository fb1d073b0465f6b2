// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { describe, expect, test } from 'vitest';
import { referenceOffset, substitute } from '../../../../config/reader/substitute.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

describe('shell syntax or an unset variable', () => {
  test.each([
    ['$HOME', '$HOME is not expanded; write ${HOME}'],
    ['$DATA_DIR/files', '$DATA_DIR is not expanded; write ${DATA_DIR}'],
    ['Bearer $DATA', '$DATA is not expanded; write ${DATA}'],
    ['--root=$DATA', '$DATA is not expanded; write ${DATA}'],
    ['~', '~ is not expanded; write ${HOME}'],
    ['~/files', '~ is not expanded; write ${HOME}'],
    ['--root=~/files', '~ is not expanded; write ${HOME}'],
  ])('%s is kept unchanged, with a warning', async (arg, warning) => {
    const { loaded, lines } = await folder.loadCatalog(
      JSON.stringify({ servers: { a: { command: 'x', args: [arg] } } }),
    );
    expect(lines).toEqual([expect.stringContaining(`warning: servers.a.args[0]: ${warning}`)]);
    expect(loaded?.catalog.servers.a).toMatchObject({ args: [arg] });
  });

  test.each(['echo $HOME', '$schema', 'a$HOME', '$5', '~user', 'a~/b', '$(date)', '$HOME is it'])(
    '%s causes no warning',
    async (arg) => {
      const { lines } = await folder.loadCatalog(
        JSON.stringify({ servers: { a: { command: 'sh', args: ['-c', arg] } } }),
      );
      expect(lines).toEqual([]);
    },
  );

  test('is not quoted if it may be a secret, and no default is suggested for it', async () => {
    const { lines } = await folder.loadCatalog(
      `servers: { a: { url: "http://a", headers: { X-Key: "$ECRET", Y: "\${GONE}" } }, b: { command: x, args: ["\${API_KEY}"], env: { TOKEN: "\${GONE}" } } }\n`,
    );
    expect(lines.join('\n')).not.toMatch(/ECRET|default/);
    expect(lines.filter((line) => /write \$\{NAME\}$/.test(line))).toHaveLength(1);
    expect(lines.filter((line) => /is not set; set it$/.test(line))).toHaveLength(3);
  });

  test.each([
    ['API_KEY', false],
    ['DB_PASS', false],
    ['GITHUB_PAT', false],
    ['DB_CREDENTIALS', false],
    ['BASIC_AUTH', false],
    ['DATA_PATH', true],
    ['AUTHOR', true],
  ])('leads to the suggestion of a default for the variable %s: %s', async (name, isProposed) => {
    const { lines } = await folder.loadCatalog(`servers: { a: { command: x, args: ["\${${name}}"] } }\n`);
    expect(lines).toEqual([expect.stringMatching(isProposed ? /or give a default/ : /is not set; set it$/)]);
  });
});

describe('substitute', () => {
  test.each([
    ['plain $HOME $ {A}', 'plain $HOME $ {A}'],
    ['${A}', 'one'],
    ['<${A}${B}>', '<onetwo>'],
    ['${EMPTY}', ''],
    ['${EMPTY:-x}', 'x'],
    ['${NONE:-x y:z}', 'x y:z'],
    ['${NONE:-}', ''],
    ['${A:-x}', 'one'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['a$${A}b${A}', 'a${A}bone'],
    ['$', '$'],
    ['${REF}', '${A}'],
  ])('turns %s into %s', (input, output) => {
    const result = substitute(input, { A: 'one', B: 'two', EMPTY: '', REF: '${A}' });
    expect(result.text).toBe(output);
    expect(result.faults).toEqual([]);
  });

  test.each(['${', '${}', '${1A}', '${A-x}', '${A:0:1}', '${A:-${B}}', '${env:A}', '${A'])(
    'refuses %s',
    (input) => {
      const { faults } = substitute(input, { A: 'one', B: 'two' });
      expect(faults).toHaveLength(1);
      expect(faults[0]?.message).toContain('does not begin a reference');
    },
  );

  test('ignores the prototype of the environment', () => {
    expect(substitute('${constructor}', {}).faults[0]?.message).toContain('constructor is not set');
    expect(substitute('${__proto__}', {}).faults).toHaveLength(1);
  });

  test('returns the values of used variables, without defaults', () => {
    const { used, names } = substitute('${A} ${B:-b} ${C:-c}', { A: '1', B: '2' });
    expect(used).toEqual([
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ]);
    expect(names).toEqual(['A', 'B', 'C']);
  });

  test('referenceOffset returns the position of the n-th reference', () => {
    expect(referenceOffset('"a ${X} $${Y} ${Z}"', 2)).toBe(14);
    expect(referenceOffset('"nothing"', 0)).toBe(0);
  });
});

describe('references in a file', () => {
  const head = 'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\n';

  test('that are not set are reported with file, line, column and variable', async () => {
    folder.write('gateway.yaml', `${head}api_key: \${NO_KEY}\n`);
    folder.write(
      'catalog.yaml',
      'servers:\n  a:\n    command: x\n    args:\n      - "--k=${NO_ARG} ${NO_B}"\n',
    );
    const { lines } = await folder.load();
    expect(lines).toEqual([
      'gateway.yaml:3:10: api_key: the environment variable NO_KEY is not set; set it',
      'catalog.yaml:5:14: servers.a.args[0]: the environment variable NO_ARG is not set; set it, or give a default: ${NO_ARG:-default}',
      'catalog.yaml:5:24: servers.a.args[0]: the environment variable NO_B is not set; set it, or give a default: ${NO_B:-default}',
    ]);
  });

  test('cannot inject YAML, and are not expanded in keys, comments or unknown parts', async () => {
    const { loaded } = await folder.loadCatalog(
      'servers:\n  a:\n    command: ${CMD} # ${NOT_SET}\n    env:\n      ${KEY}: x\n',
      { CMD: 'x\nenabled: false\n  - [{' },
    );
    expect(loaded?.catalog.servers.a).toMatchObject({
      command: 'x\nenabled: false\n  - [{',
      enabled: true,
      env: { '${KEY}': 'x' },
    });
  });

  test('become numbers and booleans if these are expected', async () => {
    const { loaded, lines } = await folder.loadGateway(
      `${head}shutdown_seconds: \${S}\nlimits: { in_flight: "\${N:-12}" }\ninspector: { enabled: "\${B}" }\nlog_level: \${L}\n`,
      { S: '2.5', B: 'false', L: 'warn' },
    );
    expect(lines).toEqual([]);
    expect(loaded?.config).toMatchObject({
      shutdown_seconds: 2.5,
      limits: { in_flight: 12 },
      inspector: { enabled: false, commands: false, stately: false, insecure: false },
      log_level: 'warn',
    });
  });

  test.each(['5m', '', ' 5', '0x10', '1e3', '05', 'Infinity', '-1'])(
    'are refused as a number if they contain "%s", without showing it',
    async (value) => {
      const { lines } = await folder.loadGateway(`${head}shutdown_seconds: \${S}\n`, { S: value });
      const description = value === '' ? 'nothing' : 'something else';
      expect(lines).toEqual([
        `gateway.yaml:3:19: shutdown_seconds: expected a number >= 0, found ${description} in \${S}`,
      ]);
    },
  );

  test('in a YAML mapping in braces are reported with advice if they have no quotes', async () => {
    const { lines } = await folder.loadCatalog('servers:\n  a: { command: x, env: { T: ${T} } }\n', {
      T: 'x',
    });
    expect(lines[0]).toContain('catalog.yaml:2:31: YAML syntax: ');
    expect(lines[0]).toContain('a reference needs quotes: "${NAME}"');
  });
});
