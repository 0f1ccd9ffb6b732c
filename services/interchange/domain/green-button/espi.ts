import { trimEnd } from '../../../domain/trim-end.ts'

/** Entry of a Green Button feed: its links, and the object in its content. Names are those of ESPI. */
export type EspiEntry = {
  readonly line: number
  readonly self: string
  readonly up: readonly string[]
  readonly related: readonly string[]
  readonly kind: string
  readonly content: EspiValue
}

/** Plain value of XML: texts, lists and elements. */
export type EspiValue = string | readonly EspiValue[] | { readonly [name: string]: EspiValue }

const isElement = (value: EspiValue | undefined): value is { readonly [name: string]: EspiValue } =>
  typeof value === 'object' && !Array.isArray(value)

/** Return the member of an element; undefined if it is absent. */
export const member = (value: EspiValue | undefined, name: string): EspiValue | undefined =>
  isElement(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** Return the text of a member, without spaces around it; null if it is absent or no text. */
export const textMember = (value: EspiValue | undefined, name: string): string | null => {
  const text = member(value, name)
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : null
}

/** Return the elements of a member: none, one or a list. */
export const elements = (value: EspiValue | undefined, name: string): readonly EspiValue[] => {
  const all = member(value, name)
  if (all === undefined) return []
  return Array.isArray(all) ? all : [all as EspiValue]
}

/** Return the path of an address. */
const pathOf = (href: string): string => trimEnd(href.trim().replace(/^https?:\/\/[^/]*/, ''), '/')

/** Read an entry of a feed. Null if it has no content of ESPI. */
export const readEspiEntry = (value: EspiValue, line: number): EspiEntry | null => {
  const content = elements(value, 'content').find(isElement)
  const kind =
    content === undefined ? undefined : Object.keys(content).find(name => !name.startsWith('@') && name !== '#text')
  if (content === undefined || kind === undefined) return null
  const links = elements(value, 'link')
  const hrefs = (rel: string) =>
    links.filter(link => textMember(link, '@rel') === rel).map(link => pathOf(textMember(link, '@href') ?? ''))
  return {
    line,
    self: hrefs('self')[0] ?? '',
    up: hrefs('up'),
    related: hrefs('related'),
    kind,
    content: content[kind] as EspiValue,
  }
}
