import type { ConsoleDependencies } from '../../console/console-dependencies.ts'
import type { ConsoleRequest, SignedInRequest } from '../../console/console-request.ts'
import { counted, wholeNumber } from '../../console/kit/amount.ts'
import { form, type PageView, pageAnswer, partsMarker, streamAnswer } from '../../console/page-frame.ts'
import { errorNotice, facts, successNotice } from '../../console/page-parts.ts'
import type { ImportUndoWire } from '../../contract/metering/meter-import.ts'
import { fairShare } from '../../platform/concurrency/fair-share.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { undoImport } from '../reading-import/undo-import.ts'
import { importedFiles } from './import-entries.ts'
import { importPath, undoPagePath } from './import-form.ts'
import { busy, faultOf, forbidden, importLimits, mayImport, progressMs } from './import-pages.ts'
import { callsOfSession } from './session-calls.ts'

const never = new AbortController().signal
const title = 'Undo import'
const back = html`<p><a href="${importPath}">Back to the imports</a></p>`

type UndoRequest = Pick<ConsoleRequest, 'session' | 'csrf'>

const undoPage = (request: UndoRequest, importId: string): PageView => {
  if (!mayImport(request)) return { title, status: 403, body: html`<h1>${title}</h1>${errorNotice(forbidden)}` }
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">Import <code>${importId}</code> in the ${request.session.liveMode ? 'live' : 'test'} data of this account.</p>
<div role="status" aria-label="Counts and result">${partsMarker}</div>${back}`,
  }
}

const countsOf = (undo: ImportUndoWire): Html =>
  facts(
    ['Only this import sent them, or undone imports: withdrawn', wholeNumber(String(undo.records_withdrawn))],
    ['Set back to the value before the import', wholeNumber(String(undo.records_restored))],
    ['Unchanged: equal before the import, or undone before', wholeNumber(String(undo.records_unchanged))],
    ['Left: sent again since, or their location is deleted', wholeNumber(String(undo.records_left ?? 0))],
  )

/** Name the other imports of the records, each with a link to its undo. */
const othersOf = (undo: ImportUndoWire, files: ReadonlyMap<string, string>): Html | null => {
  const others = undo.other_imports ?? []
  if (others.length === 0) return null
  const links = others.map(
    (id, index) =>
      html`${index === 0 ? '' : ', '}<a href="${undoPagePath(id)}">${files.get(id) ?? html`<code>${id}</code>`}</a>`,
  )
  return html`<p>Other imports sent some of these records too: ${links}. These records keep the value that others sent last.</p>`
}

const handledBy = (undo: ImportUndoWire): number =>
  undo.records_withdrawn + undo.records_restored + undo.records_unchanged

const question = ({ csrf, session }: UndoRequest, undo: ImportUndoWire, others: Html | null): Html => {
  const mode = session.liveMode ? 'live' : 'test'
  const button = html`<p>A withdrawn record has 0 kWh and costs nothing. Costs, sessions and statements follow within seconds.</p>
<div class="actions"><button class="danger" type="submit">Undo in ${mode} data</button></div>`
  return html`<h2>What the undo changes</h2><p>Nothing is changed yet.</p>${countsOf(undo)}${others}
${form(csrf, undoPagePath(undo.import_id), button)}`
}

const resultOf = (undo: ImportUndoWire, others: Html | null): Html =>
  html`<h2>Result</h2>${successNotice(
    `Import undone: ${counted(String(undo.records_withdrawn + undo.records_restored), 'record')} changed.`,
  )}${countsOf(undo)}${others}`

/** Count the changes of an undo, or undo, and write progress and result as parts of the page. */
async function* undoParts(
  dependencies: ConsoleDependencies,
  request: UndoRequest,
  { importId, isDryRun }: { readonly importId: string; readonly isDryRun: boolean },
  signal: AbortSignal,
): AsyncGenerator<Html> {
  const client = callsOfSession(dependencies, request.session)
  let shownAt = performance.now()
  try {
    for await (const undo of undoImport({ client, importId, isDryRun, signal })) {
      if (undo.next_cursor === null) {
        const others = othersOf(undo, await importedFiles(dependencies, request.session))
        yield isDryRun ? question(request, undo, others) : resultOf(undo, others)
      } else if (performance.now() - shownAt >= progressMs) {
        shownAt = performance.now()
        yield html`<p>${counted(String(handledBy(undo)), 'record')} so far…</p>`
      }
    }
  } catch (error) {
    const message = faultOf(dependencies, error, signal)
    const again = isDryRun ? null : html`<p>Load this page again and repeat the undo: the result is the same.</p>`
    yield html`${errorNotice({ code: 'import', message, field: null })}${again}`
  }
}

/** Answers of the page that undoes an import. At most one per account runs. */
export const undoAnswers = (dependencies: ConsoleDependencies) => {
  const share = fairShare(importLimits)
  return async (
    request: SignedInRequest,
    { method }: Request,
    [importId = '']: readonly string[],
  ): Promise<Response> => {
    const page = undoPage(request, importId)
    if (page.status !== undefined) return pageAnswer(page, request)
    const release = await share.acquire(request.session.accountId, never)
    if (release === null) return pageAnswer(busy, request)
    const stop = new AbortController()
    const end = (): void => {
      if (stop.signal.aborted) return
      stop.abort()
      release()
    }
    const parts = undoParts(dependencies, request, { importId, isDryRun: method !== 'POST' }, stop.signal)
    return streamAnswer(page, request, { parts, end })
  }
}
