// The chart of a flow: that it is Mermaid, as far as its grammar is used here, whatever stands in the flow. The same charts were given to
// Mermaid's own parser (11, `mermaid.parse`) when this was written; it is too large to be installed for one test.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { flowChart } from '../../../../src/cli/views/flow-chart.ts';

type Chart = Parameters<typeof flowChart>[0];
type Node = Chart['nodes'][number];

const node = (id: string, type: string, on_error: string | null = null): Node => ({
  ...{ id, type: type as Node['type'], description: null, on_error },
});
const arrow = (from: string, to: string, when: string | null = null) => ({ from, to, when });

test('a flow becomes a chart with shapes by type, conditions on arrows, errors dashed and loops as charts within', () => {
  const inside = { nodes: [node('look', 'HTTP'), node('end', 'End')], connections: [arrow('look', 'end')] };
  const flow: Chart = {
    name: 'deploy',
    nodes: [
      node('check', 'Agent', 'sorry'),
      node('ask', 'Approval'),
      { ...node('poll', 'Loop'), inside },
      node('sorry', 'Response'),
      node('soak', 'Wait'),
    ],
    connections: [
      arrow('check', 'ask', "steps.check.output.data.ok == 'yes' && !x"),
      arrow('ask', 'poll', 'approved'),
      arrow('poll', 'soak'),
    ],
  };
  expect(flowChart(flow)).toBe(`---
title: "deploy"
---
flowchart TD
  n1(["check<br/>Agent"])
  n2{{"ask<br/>Approval"}}
  subgraph n3 ["poll<br/>Loop"]
    n3_1[/"look<br/>HTTP"/]
    n3_2((("end<br/>End")))
    n3_1 --> n3_2
  end
  n4>"sorry<br/>Response"]
  n5["soak<br/>Wait"]
  n1 -->|"steps.check.output.data.ok == 'yes' #38;#38; !x"| n2
  n2 -->|"approved"| n3
  n3 --> n5
  n1 -.->|"on error"| n4
`);
});

const label = String.raw`"(?:[\p{L}\p{N} .,:?!_=+*/()'-]|#\d+;|<br/>)+"`;
const name = String.raw`n\d+(?:_\d+)*`;
const shapes = [
  ...[String.raw`\(\[${label}\]\)`, String.raw`\[\[${label}\]\]`, String.raw`\[/${label}/\]`],
  ...[String.raw`\{\{${label}\}\}`, `>${label}\\]`, String.raw`\{${label}\}`, String.raw`\(\(${label}\)\)`],
  ...[String.raw`\(\(\(${label}\)\)\)`, String.raw`\[${label}\]`],
];
const grammar = [
  new RegExp(`^(?<declared>${name})(?:${shapes.join('|')})$`, 'u'),
  new RegExp(String.raw`^subgraph (?<declared>${name}) \[${label}\]$`, 'u'),
  /^end$/,
  new RegExp(String.raw`^(?<from>${name}) (?:-->|-\.->)(?:\|${label}\|)? (?<to>${name})$`, 'u'),
];

const types = ['Agent', 'Fleet', 'Tool', 'HTTP', 'Approval', 'Response', 'Conditional', 'Parallel', 'Join'];
const anyNode = (id: string, inside?: Chart): fc.Arbitrary<Node> =>
  fc
    .constantFrom(...types, 'Wait', 'Transform', 'End', 'constructor')
    .map((type) => (inside === undefined ? node(id, type) : { ...node(id, 'Loop'), inside }));

const words = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'end',
    '"]',
    '-->',
    '%% x',
    '```',
    '<script>',
    '&quot;',
    '#quot;',
    'subgraph',
    '{{ x }}',
    '|',
  ),
);

function anyFlow(depth: number): fc.Arbitrary<Chart> {
  return fc.uniqueArray(words, { minLength: 1, maxLength: 6 }).chain((ids) =>
    fc
      .record({
        nodes: fc.tuple(
          ...ids.map((id, index) =>
            depth > 0 && index === 0
              ? anyFlow(depth - 1).chain((inside) => anyNode(id, inside))
              : anyNode(id),
          ),
        ),
        connections: fc.array(
          fc.record({
            from: fc.constantFrom(...ids),
            to: fc.constantFrom(...ids),
            when: fc.option(words, { nil: null }),
          }),
          { maxLength: 8 },
        ),
        error: fc.option(fc.constantFrom(...ids), { nil: null }),
        name: words,
      })
      .map(({ nodes: [first, ...rest], connections, error, name: title }) => ({
        ...{ name: title, connections },
        nodes: [{ ...(first as Node), on_error: error }, ...rest],
      })),
  );
}

test('FLC1 FLC2 whatever stands in a flow, each line of its chart is of the grammar, and arrows are between nodes that are there', () => {
  fc.assert(
    fc.property(anyFlow(2), (flow) => {
      const [begin, title = '', end, head, ...lines] = flowChart(flow).trimEnd().split('\n');
      expect([begin, end, head]).toEqual(['---', '---', 'flowchart TD']);
      expect(JSON.parse(title.replace(/^title: /, ''))).toBeTypeOf('string');
      const declared: string[] = [];
      const used: string[] = [];
      let depth = 0;
      for (const line of lines) {
        const found = grammar.flatMap((rule) => rule.exec(line.trimStart()) ?? []);
        expect(found.length, line).toBeGreaterThan(0);
        const groups = grammar.map((rule) => rule.exec(line.trimStart())?.groups).find((each) => each) ?? {};
        if (groups.declared !== undefined) declared.push(groups.declared);
        if (groups.from !== undefined) used.push(groups.from, groups.to ?? '');
        depth += line.trim().startsWith('subgraph ') ? 1 : line.trim() === 'end' ? -1 : 0;
      }
      expect(depth).toBe(0);
      expect(new Set(declared).size).toBe(declared.length);
      expect(used.filter((each) => !declared.includes(each))).toEqual([]);
      expect(flowChart(flow)).toBe(flowChart(flow));
    }),
  );
});
