import { createHash } from 'node:crypto'

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown

/** Number with the text that the answer has. */
class NumberText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const write = (value: unknown): string => {
  if (value instanceof NumberText) return value.text
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map(name => `${JSON.stringify(name)}:${write((value as never)[name])}`).join(',')}}`
}

/** Return the members of a statement that its hash covers, as RFC 8785 writes them, numbers as written. */
export const coveredText = (text: string): string => {
  const parsed = parse(text, (_, value, { source = '' }) =>
    typeof value === 'number' ? new NumberText(source) : value,
  )
  const { id: _, revision: __, hash: ___, time_created: ____, ...covered } = parsed as Record<string, unknown>
  return write(covered)
}

/** Return the hash that a statement must have. */
export const hashOfStatement = (text: string): string => createHash('sha256').update(coveredText(text)).digest('hex')
