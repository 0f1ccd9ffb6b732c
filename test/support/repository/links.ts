import { posix } from 'node:path'

/** One file of the repository: its path from the root and its text. */
export type LinkedFile = { readonly path: string; readonly text: string }

/** Texts of Markdown files by path, and the paths of all files and folders. */
export type LinkTargets = { readonly pages: ReadonlyMap<string, string>; readonly paths: ReadonlySet<string> }

const fence = /^(?:```|~~~)/

/** Return the lines of a Markdown text outside of fenced code. Other lines are empty. */
const proseLines = (text: string): readonly string[] => {
  let isCode = false
  return text.split('\n').map(line => {
    const isFence = fence.test(line.trimStart())
    if (isFence) isCode = !isCode
    return isCode || isFence ? '' : line
  })
}

/** Return the anchor of a heading, as GitHub builds it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** List the anchors of a Markdown page. Headings with equal text get -1, -2 … */
export const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  const counts = new Map<string, number>()
  for (const line of proseLines(text)) {
    const heading = /^#{1,6} (\S.*)$/.exec(line)?.[1]
    if (heading === undefined) continue
    const anchor = anchorOf(heading.trim())
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`)
  }
  return anchors
}

/** Return the fault of a link to a path and a heading of the repository; null if both exist. */
const targetFault = (path: string, anchor: string | undefined, { pages, paths }: LinkTargets): string | null => {
  if (!paths.has(path)) return `there is no file ${path}`
  if (anchor === undefined || anchor === '') return null
  const page = pages.get(path)
  if (page === undefined) return null
  return anchorsOf(page).has(anchor) ? null : `${path} has no heading #${anchor}`
}

const markdownLink = /\]\(([^()\s]+)\)/g

/** List the broken relative links of a Markdown page, as `path:line text`. */
export const brokenLinks = ({ path, text }: LinkedFile, targets: LinkTargets): readonly string[] =>
  proseLines(text).flatMap((line, index) =>
    [...line.replace(/`[^`]*`/g, 'code').matchAll(markdownLink)].flatMap(([, target = '']) => {
      if (/^[a-z]+:/.test(target)) return []
      const [file = '', anchor] = target.split('#')
      const resolved = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, '')
      const fault = targetFault(resolved, anchor, targets)
      return fault === null ? [] : [`${path}:${index + 1} ${fault}`]
    }),
  )

const sourceStart = /^\s*(?:\/\*\*?|\*|\/\/|--|#).*?\bSource: (.*)$/
const commentLine = /^\s*(?:\*(?!\/)|\/\/|--|#) ?(.*)$/

/** List the `Source:` references of the comments of a file, with their line from 1. Each ends with its comment. */
export const sourcesOf = (text: string): readonly { readonly line: number; readonly source: string }[] => {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    let source = sourceStart.exec(line)?.[1]
    if (source === undefined) return []
    for (let next = index + 1; !source.includes('*/') && next < lines.length; next += 1) {
      const more = commentLine.exec(lines[next] ?? '')?.[1]
      if (more === undefined) break
      source += ` ${more}`
    }
    return [{ line: index + 1, source: (source.split('*/')[0] ?? '').trim() }]
  })
}

const ownReference = /^(docs\/[\w/-]+\.md)((?:,? #[\w-]+)+)$/
/** A standard or a publication outside of the repository needs an address or a number by which it is found. */
const outside = /https:\/\/|\bRFC \d|\bI(?:SO|EC) \d/

const referenceFaults = (reference: string, targets: LinkTargets): readonly string[] => {
  const [, path, anchors] = ownReference.exec(reference) ?? []
  if (path === undefined || anchors === undefined) {
    const isNamed = !reference.startsWith('docs/') && outside.test(reference)
    return isNamed
      ? []
      : [`"${reference}" names no heading of docs/ and no standard: write docs/rules/costs.md #buckets`]
  }
  return anchors.split(/,? #/).flatMap(anchor => (anchor === '' ? [] : (targetFault(path, anchor, targets) ?? [])))
}

/**
 * List the `Source:` references of a file whose target does not exist, as `path:line text`.
 * References are separated by semicolons.
 */
export const brokenSources = ({ path, text }: LinkedFile, targets: LinkTargets): readonly string[] =>
  sourcesOf(text).flatMap(({ line, source }) =>
    source
      .replace(/\.$/, '')
      .split('; ')
      .flatMap(reference => referenceFaults(reference.replace(/;$/, ''), targets))
      .map(fault => `${path}:${line} ${fault}`),
  )
