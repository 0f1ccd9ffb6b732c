import { html as honoHtml, raw } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'

/** Escaped markup. */
export type Html = HtmlEscapedString

/** Value in a template: text is escaped, markup is unchanged, lists are joined, null and undefined are omitted. */
export type Content = Html | string | number | null | undefined | readonly Content[]

/** Create markup. All values are escaped; attribute values need double quotes. */
export const html = (parts: TemplateStringsArray, ...contents: readonly Content[]): Html =>
  honoHtml(parts, ...contents) as Html

/** Mark a text of this service, such as a style sheet or a script, as markup. */
export const asMarkup = (markup: string): Html => raw(markup)
