import { Composer, type CST, isAlias, isMap, isScalar, isSeq, Lexer, type ParsedNode, Parser } from 'yaml'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import { fractionOfText, isSourceObject, type SourceValue, sourceNumber } from '../domain/source-value.ts'

/** Limits of a YAML text. Lists of prices have far less. */
export const maxYamlBytes: number = 256 * 1024
const maxDepth = 32
/** A level has at most two open tokens. */
const maxOpenTokens = 2 * maxDepth + 2
const maxNodes = 5_000
/** Tokens between two points at which other work can run. */
const tokensOfStep = 256

/** First fault of a text. Only this file throws and catches this error. */
class YamlFault extends Error {}

const tooDeep = (): YamlFault => new YamlFault(`is nested deeper than ${maxDepth} levels`)

/** Count the nodes of a token, and refuse deep nesting, without recursion. */
const measure = (token: CST.Token): void => {
  const open: { readonly token: CST.Token; readonly depth: number }[] = [{ token, depth: 1 }]
  let count = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    count += 1
    if (next.depth > maxDepth) throw tooDeep()
    if (count > maxNodes) throw new YamlFault(`has more than ${maxNodes} values`)
    const { token: one, depth } = next
    if (one.type === 'document' && one.value !== undefined) open.push({ token: one.value, depth })
    if (!('items' in one)) continue
    for (const item of one.items)
      for (const part of [item.key, item.value])
        if (part !== undefined && part !== null) open.push({ token: part, depth: depth + 1 })
  }
}

const toSource = (node: ParsedNode | null): SourceValue => {
  if (node === null) return null
  if (isAlias(node) || node.anchor !== undefined)
    throw new YamlFault('has an anchor or an alias. Write the value twice')
  if (node.tag !== undefined) throw new YamlFault('has a tag. Leave it out')
  if (isScalar(node)) {
    const { value, source = '' } = node
    if (typeof value === 'number' && fractionOfText(source) !== null) return sourceNumber(source)
    if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
    throw new YamlFault('has a number that is not a decimal number')
  }
  if (isSeq(node)) return node.items.map(item => toSource(item as ParsedNode))
  if (!isMap(node)) throw new YamlFault('has an unknown node')
  const members = node.items.map(({ key, value }) => {
    const name = isScalar(key) ? key.value : undefined
    if (typeof name !== 'string' || name === '__proto__') throw new YamlFault('has a name that is not a text')
    return [name, toSource(value as ParsedNode | null)] as const
  })
  return Object.fromEntries(members)
}

/** Compose the only document of the tokens. */
const compose = (tokens: readonly CST.Token[]): SourceValue => {
  const documents = [...new Composer({ schema: 'core', version: '1.2', uniqueKeys: true }).compose(tokens)]
  const [document] = documents
  if (document === undefined || documents.length > 1) throw new YamlFault('must have one document')
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw new YamlFault(`is not valid YAML: ${problem.message.split('\n', 1)[0]}`)
  return toSource(document.contents as ParsedNode | null)
}

/**
 * Parse a YAML text of one document. Numbers keep their texts. Other work of the process runs meanwhile, because 5,000 values
 * take some 60 ms; `account` takes turns with others.
 * Refuses `body_invalid`: more than 256 KiB, 32 levels or 5,000 values, anchors, aliases, tags, duplicate names, and
 * a text whose content is not an object.
 */
export const readYamlSource = async (bytes: Uint8Array, account?: string): Promise<Result<SourceValue>> => {
  if (bytes.length > maxYamlBytes)
    return refused('body_too_large', `A YAML file has at most ${maxYamlBytes / 1024} KiB. Split it.`)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.includes('\0')) throw new YamlFault('has the character NUL')
    const parser = new Parser()
    const tokens: CST.Token[] = []
    let count = 0
    const nextTurn = startTurns(account)
    for (const lexeme of new Lexer().lex(text)) {
      tokens.push(...parser.next(lexeme))
      count += 1
      // The parser closes its open tokens by recursion, so that the depth is limited before the end.
      if (parser.stack.length > maxOpenTokens) throw tooDeep()
      if (count % tokensOfStep === 0) await nextTurn()
      if (count > maxNodes * 8) throw new YamlFault(`has more than ${maxNodes} values`)
    }
    tokens.push(...parser.end())
    await nextTurn()
    for (const token of tokens) measure(token)
    const source = compose(tokens)
    if (!isSourceObject(source)) throw new YamlFault('must be an object')
    return accepted(source)
  } catch (error) {
    if (error instanceof YamlFault) return refused('body_invalid', `The file ${error.message}.`)
    if (error instanceof TypeError) return refused('body_invalid', 'The file must be UTF-8.')
    throw error
  }
}
