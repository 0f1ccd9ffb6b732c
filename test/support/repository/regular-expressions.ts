import { type Node, parseSync, Visitor } from 'oxc-parser'
import { analyse } from 'scslre'
import type { Source } from './import-boundaries.ts'

/** A regular expression in a source: its position `path:line`, its pattern and its flags. */
type FoundExpression = { readonly position: string; readonly pattern: string; readonly flags: string }

/** Replacement for a part of a pattern that is known only at run time. */
const unknownText = 'x'

/**
 * Return the text of an expression.
 * Constants of the file are inserted; parts that are known only at run time are replaced.
 */
const textOf = (node: Node | null | undefined, constants: ReadonlyMap<string, Node>): string => {
  if (node?.type === 'Literal') return 'regex' in node ? (node.regex?.pattern ?? '') : String(node.value)
  if (node?.type === 'BinaryExpression' && node.operator === '+')
    return textOf(node.left, constants) + textOf(node.right, constants)
  if (node?.type === 'Identifier')
    return constants.has(node.name) ? textOf(constants.get(node.name), new Map()) : unknownText
  if (node?.type !== 'TemplateLiteral') return unknownText
  return node.quasis
    .map(({ value }, index) => {
      const next = node.expressions[index]
      return `${value.cooked ?? ''}${next === undefined ? '' : textOf(next, constants)}`
    })
    .join('')
}

const isRegExp = (callee: Node): boolean => callee.type === 'Identifier' && callee.name === 'RegExp'

/** String methods that create a regular expression from a string. */
const makesPattern = new Set(['match', 'matchAll', 'search'])

const namesText = (node: Node | undefined): boolean => node?.type === 'Literal' && typeof node.value === 'string'

/**
 * List the regular expressions of a source: literals, `RegExp(…)`, and strings passed to `match`, `matchAll` and
 * `search`.
 */
const expressionsOf = ({ path, text }: Source): readonly FoundExpression[] => {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`Parsing ${path} failed: ${errors[0]?.message}`)
  const constants = new Map<string, Node>()
  const found: FoundExpression[] = []
  const add = (node: Node, pattern: string, flags: string): void => {
    found.push({ position: `${path}:${text.slice(0, node.start).split('\n').length}`, pattern, flags })
  }
  const addCall = (node: Node, args: readonly Node[]): void =>
    add(node, textOf(args[0], constants), args[1] ? textOf(args[1], constants) : '')
  new Visitor({
    VariableDeclarator: ({ id, init }) =>
      void (id.type === 'Identifier' && init !== null && constants.set(id.name, init)),
  }).visit(program)
  new Visitor({
    Literal: node => void ('regex' in node && node.regex !== null && add(node, node.regex.pattern, node.regex.flags)),
    NewExpression: node => void (isRegExp(node.callee) && addCall(node, node.arguments)),
    CallExpression: node => {
      const { callee, arguments: args } = node
      if (isRegExp(callee)) addCall(node, args)
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier' || !namesText(args[0])) return
      if (makesPattern.has(callee.property.name)) add(node, textOf(args[0], constants), '')
    },
  }).visit(program)
  return found
}

/** Reasons for more than linear time, by the names of the analysis. */
const reasons = {
  Move: 'a match is tried from each character of a long run',
  Self: 'a repeated part matches one text in several ways',
  Trade: 'two repeated parts share one text in several ways',
} as const

const reasonOf = ({ pattern, flags }: FoundExpression): string | null => {
  const [report] = analyse({ source: pattern, flags }).reports
  return report === undefined
    ? null
    : `${report.exponential ? 'exponential' : 'polynomial'}, for ${reasons[report.type]}`
}

/**
 * List the regular expressions that can take more than linear time, one sentence each; empty if all are linear.
 * The analysis ignores the length of the matched texts. A part that is known only at run time counts as one letter.
 * Throws if a source cannot be parsed or a pattern is invalid.
 */
export const slowExpressions = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap(expressionsOf).flatMap(found => {
    const reason = reasonOf(found)
    return reason === null ? [] : [`${found.position} /${found.pattern}/${found.flags} is ${reason}`]
  })

/** Count the regular expressions of sources. */
export const countExpressions = (sources: readonly Source[]): number => sources.flatMap(expressionsOf).length
