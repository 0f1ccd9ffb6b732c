import { type Document, isObject, type Json } from './document.ts'

const typesOf = ({ type }: Json): readonly unknown[] => (Array.isArray(type) ? type : [type])

type Visit = (name: string, kind: 'integer' | 'number') => void

/** Visit each number schema with the name of its member. An element of a list has the name of the list. */
const visitNumbers = (value: unknown, name: string, visit: Visit): void => {
  if (Array.isArray(value)) for (const one of value) visitNumbers(one, name, visit)
  if (!isObject(value)) return
  for (const kind of ['integer', 'number'] as const) if (typesOf(value).includes(kind)) visit(name, kind)
  for (const [keyword, inner] of Object.entries(value)) {
    if (keyword === 'properties' && isObject(inner))
      for (const [member, schema] of Object.entries(inner)) visitNumbers(schema, member, visit)
    else if (keyword !== 'example' && keyword !== 'examples') visitNumbers(inner, name, visit)
  }
}

/**
 * List the members that are integers in all schemas that use their name. All other numbers are decimals.
 * A reader of JSON then needs only the name of a member to choose its type.
 */
export const integerNames = ({ components, paths }: Document): readonly string[] => {
  const kinds = new Map<string, Set<string>>()
  const visit: Visit = (name, kind) => {
    kinds.set(name, (kinds.get(name) ?? new Set()).add(kind))
  }
  visitNumbers(components.schemas, '', visit)
  for (const methods of Object.values(paths))
    for (const { requestBody, responses } of Object.values(methods)) visitNumbers([requestBody, responses], '', visit)
  return [...kinds].flatMap(([name, found]) => (found.has('number') || name === '' ? [] : [name])).toSorted()
}

const decimalKeywords = new Set(['type', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'format'])

/** Replace the schema of each decimal of a document by the result of `write`. Parameters keep their integers. */
export const withDecimals = (document: Document, write: (isNullable: boolean) => Json): Document => {
  const integers = new Set(integerNames(document))
  const replace = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map(one => replace(one, name))
    if (!isObject(value)) return value
    const types = typesOf(value)
    const isDecimal = types.includes('number') || (types.includes('integer') && !integers.has(name) && name !== '')
    const others = Object.entries(value).filter(([keyword]) => !isDecimal || !decimalKeywords.has(keyword))
    const own = others.map(([keyword, inner]): readonly [string, unknown] => {
      if (keyword === 'example' || keyword === 'examples') return [keyword, inner]
      if (keyword !== 'properties' || !isObject(inner)) return [keyword, replace(inner, name)]
      return [keyword, Object.fromEntries(Object.entries(inner).map(([member, one]) => [member, replace(one, member)]))]
    })
    return { ...Object.fromEntries(own), ...(isDecimal ? write(types.includes('null')) : {}) }
  }
  return replace(document, '') as Document
}
