import { Marked, type Token, type Tokens } from 'marked'
import { codeBlock, jsonMarkup, shellMarkup } from '../reference/code-markup.ts'
import { asMarkup, html } from '../ui-kit/html.ts'

/** Text below one heading of a page. The anchor of the text before the second heading is empty. */
export type PageSection = { readonly anchor: string; readonly heading: string; readonly text: string }

/** Page as markup, with its title and its sections for the search. */
export type RenderedPage = {
  readonly title: string
  readonly markup: string
  readonly sections: readonly PageSection[]
}

/** Return the address of a link in the service; null if the service does not serve its target. */
export type ResolveLink = (target: string) => string | null

/** Return the anchor of a heading, as GitHub builds it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Return anchors that are unique in a page: repeated headings get -1, -2 and so on. */
const anchorCounter = () => {
  const counts = new Map<string, number>()
  return (heading: string): string => {
    const anchor = anchorOf(heading)
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  }
}

const blockTitles: Readonly<Record<string, string>> = {
  sh: 'Shell',
  json: 'JSON',
  python: 'Python',
  js: 'JavaScript',
  go: 'Go',
  java: 'Java',
  sql: 'SQL',
}

const renderCode = ({ text, lang = '' }: Tokens.Code): string => {
  const [language = ''] = lang.split(' ')
  const content = language === 'sh' ? shellMarkup(text) : language === 'json' ? jsonMarkup(text) : html`${text}`
  return String(codeBlock(blockTitles[language] ?? (lang === '' ? 'Shell' : 'Text'), content))
}

/** Return the plain text of tokens, without marks. */
const plainText = (tokens: readonly Token[]): string =>
  tokens
    .map(token => {
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table
        return [header, ...rows].flatMap(row => row.map(cell => plainText(cell.tokens))).join(' ')
      }
      if (token.type === 'list') return (token as Tokens.List).items.map(item => plainText(item.tokens)).join(' ')
      if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens)
      return 'text' in token ? String(token['text']) : token.type === 'br' || token.type === 'space' ? ' ' : ''
    })
    .join('')
    .replaceAll(/\s+/g, ' ')

const sectionsOf = (tokens: readonly Token[]): readonly PageSection[] => {
  const nextAnchor = anchorCounter()
  const sections: { anchor: string; heading: string; text: string }[] = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = plainText((token as Tokens.Heading).tokens)
      const anchor = nextAnchor(heading)
      sections.push({ anchor: sections.length === 0 ? '' : anchor, heading, text: '' })
    } else {
      const section = sections.at(-1)
      if (section !== undefined) section.text += `${plainText([token])} `
    }
  }
  return sections
}

/**
 * Render a Markdown page of `docs/`. The page begins with its title. HTML in the page is shown as text.
 * Links whose target the service does not serve become text with the path of the file.
 */
export const renderPage = (text: string, resolveLink: ResolveLink): RenderedPage => {
  const nextAnchor = anchorCounter()
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const anchor = nextAnchor(plainText(tokens))
        const inner = asMarkup(this.parser.parseInline(tokens))
        const content = depth === 1 ? inner : html`<a class="anchor" href="#${anchor}">${inner}</a>`
        return `<h${depth} id="${anchor}">${content}</h${depth}>\n`
      },
      code: renderCode,
      html: ({ text: raw }) => String(html`${raw}`),
      link({ href, tokens }) {
        const inner = asMarkup(this.parser.parseInline(tokens))
        if (/^https?:/.test(href)) return String(html`<a href="${href}" rel="noreferrer">${inner}</a>`)
        const address = resolveLink(href)
        return String(
          address === null
            ? html`<span class="file" title="${href}, in the repository">${inner}</span>`
            : html`<a href="${address}">${inner}</a>`,
        )
      },
      image({ href, text: description }) {
        const address = resolveLink(href)
        return address === null ? '' : String(html`<img src="${address}" alt="${description}" loading="lazy">`)
      },
      table(token) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td'): string =>
          `<tr>${cells.map(cell => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        const head = `<thead>${row(token.header, 'th')}</thead>`
        const body = `<tbody>${token.rows.map(cells => row(cells, 'td')).join('\n')}</tbody>`
        return `<div class="table" tabindex="0"><table>${head}${body}</table></div>\n`
      },
    },
  })
  const tokens = marked.lexer(text)
  const sections = sectionsOf(tokens)
  return { title: sections[0]?.heading ?? '', markup: marked.parser(tokens), sections }
}
