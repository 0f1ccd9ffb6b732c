/** A condition on a label of a metric; `value` is a text or a pattern. */
export type Matcher = { readonly metric: string; readonly label: string; readonly value: string }

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }
const words = new Set([
  'and',
  'or',
  'unless',
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'offset',
  'bool',
  'inf',
  'nan',
])

const withoutText = (expr: string): string => expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')

/** Return the first bracket of an expression without a match. Null if all brackets match. */
export const unbalanced = (expr: string): string | null => {
  const open: string[] = []
  for (const [index, character] of [...withoutText(expr)].entries()) {
    const end = closing[character]
    if (end !== undefined) open.push(end)
    else if (Object.values(closing).includes(character) && open.pop() !== character)
      return `${character} at ${index} closes nothing`
  }
  return open.length === 0 ? null : `${open.at(-1)} is missing`
}

/** List the metrics that an expression names, each once, in its order. */
export const metricsOf = (expr: string): readonly string[] => {
  const bare = withoutText(expr)
    .replaceAll(/\{[^{}]*\}|\[[^[\]]*\]/g, ' ')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
  const names = [...bare.matchAll(/(?<![\w.:])([a-zA-Z_:][\w:]*)(\s*\()?/g)].flatMap(([, name = '', call]) =>
    call === undefined ? [name] : [],
  )
  return [...new Set(names.filter(name => !words.has(name.toLowerCase())))]
}

/** List the matchers of an expression in its order. Patterns are taken as alternatives of plain texts. */
export const matchersOf = (expr: string): readonly Matcher[] =>
  [...expr.matchAll(/(?<![\w:])([a-zA-Z_:][\w:]*)\{((?:[^"{}]|"[^"]*")*)\}/g)].flatMap(([, metric = '', inside = '']) =>
    [...inside.matchAll(/(?<!\w)(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label = '', value = '']) => ({
      metric,
      label,
      value,
    })),
  )
