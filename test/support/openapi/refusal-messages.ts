import { type Node, parseSync, Visitor } from 'oxc-parser'
import type { Source } from '../repository/import-boundaries.ts'

/** Message in a source file. `…` replaces values that are known only at run time. */
export type RefusalMessage = { readonly position: string; readonly text: string; readonly isClause: boolean }

/** Index of the message argument, by the name of the refusing function. */
const textArgument: Readonly<Record<string, number>> = { refused: 1, refuseField: 2, refuse: 0 }

const joinedTexts = (parts: readonly (readonly string[])[]): readonly string[] =>
  parts.reduce<readonly string[]>((found, next) => found.flatMap(head => next.map(tail => head + tail)), [''])

/** Return the possible texts of an expression. Constants of the file are resolved; other values are `…`. */
const textsOf = (node: Node | null | undefined, constants: ReadonlyMap<string, Node>): readonly string[] => {
  if (node?.type === 'Literal') return [String(node.value)]
  if (node?.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap(one => textsOf(one, constants))
  if (node?.type === 'Identifier' && constants.has(node.name)) return textsOf(constants.get(node.name), new Map())
  if (node?.type === 'BinaryExpression' && node.operator === '+')
    return joinedTexts([node.left, node.right].map(one => textsOf(one, constants)))
  if (node?.type !== 'TemplateLiteral') return ['…']
  const { expressions } = node
  return joinedTexts(
    node.quasis.flatMap(({ value }, index) => [
      [value.cooked ?? ''],
      ...(index < expressions.length ? [textsOf(expressions[index], constants)] : []),
    ]),
  )
}

const nameOf = (callee: Node): string => (callee.type === 'Identifier' ? callee.name : '')

/** List the messages of all refusals in a source file, and of the rules of its shapes (`{ message: … }`). */
export const refusalMessages = ({ path, text }: Source): readonly RefusalMessage[] => {
  const { program } = parseSync(path, text)
  const constants = new Map<string, Node>()
  const found: RefusalMessage[] = []
  const add = (node: Node, isClause: boolean): void => {
    const line = text.slice(0, node.start).split('\n').length
    for (const one of textsOf(node, constants))
      if (one.replaceAll('…', '').trim().includes(' ')) found.push({ position: `${path}:${line}`, text: one, isClause })
  }
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      if (id.type === 'Identifier' && init !== null && ['Literal', 'TemplateLiteral'].includes(init.type))
        constants.set(id.name, init)
    },
  }).visit(program)
  new Visitor({
    CallExpression: ({ callee, arguments: given }) => {
      const position = textArgument[nameOf(callee)]
      const argument = position === undefined ? undefined : given[position]
      if (argument !== undefined) add(argument, nameOf(callee) === 'refuseField')
    },
    Property: ({ key, value }) => {
      if (key.type === 'Identifier' && key.name === 'message' && /services\/contract\//.test(path)) add(value, true)
    },
  }).visit(program)
  return found
}
