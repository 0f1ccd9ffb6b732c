/** Markup that may stand in a page as it is. */
export type Html = { readonly markup: string }

/** What a template takes: text is escaped, markup is not, lists are joined, null and undefined are nothing. */
export type Content = Html | string | number | null | undefined | readonly Content[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeText = (text: string): string => text.replace(/[&<>"']/g, character => entities[character] ?? '')

const markupOf = (content: Content): string => {
  if (content === null || content === undefined) return ''
  if (typeof content === 'number') return String(content)
  if (typeof content === 'string') return escapeText(content)
  return 'markup' in content ? content.markup : content.map(markupOf).join('')
}

/** Write markup; everything that is put in is escaped, attribute values included if they stand in double quotes. */
export const html = (parts: TemplateStringsArray, ...contents: readonly Content[]): Html => ({
  markup: String.raw({ raw: parts }, ...contents.map(markupOf)),
})

/** Take a text of our own as markup: a style sheet, a script. */
export const asMarkup = (markup: string): Html => ({ markup })
