import { apiCallsOf, apiFor } from '../../console/api.ts'
import type { ConsoleDependencies } from '../../console/console-dependencies.ts'
import type { ConsoleRequest, SignedInRequest } from '../../console/console-request.ts'
import { type LocationNames, newestLocations } from '../../console/kit/location-names.ts'
import { type PageView, pageAnswer, partsMarker, streamAnswer } from '../../console/page-frame.ts'
import { errorNotice, foreignFormPage, problemPage } from '../../console/page-parts.ts'
import { isOwnForm } from '../../console/session.ts'
import { mayCall } from '../../contract/operation.ts'
import type { TokenGrant } from '../../platform/access/bearer-token.ts'
import { CallError } from '../../platform/call-service.ts'
import { fairShare } from '../../platform/concurrency/fair-share.ts'
import { isFailure, UsageError } from '../../platform/failure.ts'
import type { UploadedFile } from '../../platform/http/multipart-form.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { importEntries, importsOfDay, lastImport } from './import-entries.ts'
import { importInputs, importPath, optionsOfForm } from './import-form.ts'
import { fileMenus, filledForm, formOfFile } from './import-menus.ts'
import { fileChunks, readUpload, type Upload } from './import-upload.ts'
import { importFault, importQuestions, importResult, previewResult, progressLine } from './import-view.ts'
import { type OpenedFile, openUpload, type UploadMenus } from './open-upload.ts'
import { startImport } from './run-import.ts'
import { callsOfSession } from './session-calls.ts'

/** Imports and previews that a process runs at the same time. No request waits for a turn, because its file needs memory. */
export const importLimits = { maxConcurrent: 4, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 0 }
const never = new AbortController().signal
/** Time between two lines of progress in ms. A proxy cuts an answer without bytes after 40 s. */
export const progressMs = 2_000

export const mayImport = ({ session }: Pick<ConsoleRequest, 'session'>): boolean =>
  mayCall({ access: 'metering' }, session.scope)

export const forbidden = {
  code: 'insufficient_scope',
  message: 'Sign in with a key or as a user that may send records.',
  field: null,
}

const tooLarge = problemPage(
  'File too large',
  'The file has more than 15 MiB. Compress it with gzip or zip, or use "npx wattledger import readings".',
  413,
)
export const busy = problemPage(
  'Another import runs',
  'Your account has an import in work, or this process has several. Send the form again after their end.',
  503,
)
const noFile = errorNotice({ code: 'field_missing', message: 'Choose a file.', field: 'file' })

const importPage = (
  request: Pick<ConsoleRequest, 'session' | 'csrf'>,
  names: LocationNames,
  {
    form,
    part,
    imports = null,
  }: { readonly form: URLSearchParams; readonly part: Html | null; readonly imports?: Html | null },
): PageView => {
  const title = 'Import readings'
  if (!mayImport(request)) return { title, status: 403, body: html`<h1>${title}</h1>${errorNotice(forbidden)}` }
  const mode = request.session.liveMode ? 'live' : 'test'
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">Send the readings of a CSV or XLSX file to the ${mode} data of this account. A preview stores nothing.</p>
<form class="form" method="post" action="${importPath}" enctype="multipart/form-data" data-part="import-part">
<input type="hidden" name="csrf" value="${request.csrf}">
${importInputs(names, form)}
<div class="actions"><button type="submit" name="step" value="preview">Preview</button>
<button type="submit" name="step" value="import">Import into ${mode} data</button></div>
<div id="import-part" role="status" aria-label="Preview and result">${part}</div></form>
${imports}
<section><h2>Before you import</h2>
<p>A reading that is sent twice counts once. A reading with another value replaces the stored value.</p>
<p>An import can be undone for 24 hours. After that, <a href="/console/corrections">Corrections</a> lists the values that an import replaced. To cancel
an interval that the import added, import it again with the value 0. To withdraw a register reading, import the word <code>withdrawn</code> as its value.</p>
<p>Keep this page open until the result appears. An import ends if you leave the page. The readings that it sent before stay stored.</p></section>`,
  }
}

const messageOf = (error: unknown): string | null =>
  error instanceof UsageError || error instanceof CallError || (isFailure(error) && !error.retriable)
    ? error.message
    : null

type Answered = Pick<ConsoleRequest, 'session' | 'at'> & { readonly form: URLSearchParams; readonly file: UploadedFile }

/** A sent file: it is open, or a fault or questions are shown instead. `form` has the inputs with a guess. */
type Prepared = {
  readonly opened: OpenedFile | null
  readonly fault: Html | null
  readonly form: URLSearchParams
  readonly menus: Html | null
}

/** Return the message of a fault for the page. Unexpected faults are logged. */
export const faultOf = ({ logger }: ConsoleDependencies, error: unknown, signal: AbortSignal): string => {
  const message = messageOf(error)
  if (message === null && !signal.aborted) logger.error({ err: error }, 'Import failed')
  return message ?? 'The service failed. Send the form again later.'
}

/** Open a sent file with the options of its form, and guess the others. */
const prepareImport = async (
  dependencies: ConsoleDependencies,
  { session, form: sent, file }: Answered,
  signal: AbortSignal,
): Promise<Prepared> => {
  const form = formOfFile(sent, file)
  let [filled, menus]: [URLSearchParams, Html | null] = [form, null]
  const onMenus = (found: UploadMenus): void => {
    filled = filledForm(form, found)
    menus = fileMenus(found, filled, sent, file)
  }
  const shown = () => ({ form: filled, menus })
  try {
    const account = session.accountId
    const open = { calls: callsOfSession(dependencies, session), account, signal }
    const opened = await openUpload(fileChunks(file, account), optionsOfForm(form), open, onMenus)
    return 'questions' in opened
      ? { opened: null, fault: importQuestions(opened.questions), ...shown() }
      : { opened, fault: null, ...shown() }
  } catch (error) {
    return { opened: null, fault: importFault(faultOf(dependencies, error, signal), null, true), ...shown() }
  }
}

/**
 * Run the import or its preview, and write its progress and its result as parts of the page. A file whose options were guessed
 * gets a preview first.
 */
async function* importParts(
  dependencies: ConsoleDependencies,
  answered: Answered,
  { opened, fault: earlyFault, menus }: Prepared,
  signal: AbortSignal,
): AsyncGenerator<Html> {
  const { session, at, form, file } = answered
  if (opened === null) {
    yield html`${earlyFault}${menus}`
    return
  }
  const isPreview = form.get('step') !== 'import' || opened.guess !== null
  const calls = callsOfSession(dependencies, session)
  const entries = importEntries(dependencies, session, file.name)
  const { run, done, settle } = startImport({
    file: opened,
    calls,
    isPreview,
    at,
    signal,
    importId: entries.importId,
    beforeBatch: entries.start,
  })
  let [fault, isDone]: [Html | null, boolean] = [null, false]
  try {
    const ended = done.then(() => true)
    // The error is thrown by the race below.
    ended.catch(() => undefined)
    while (!(await Promise.race([ended, pause()]))) yield progressLine(opened, run)
    isDone = true
    yield run.preview === null
      ? importResult(opened, run, entries.importId)
      : previewResult(opened, run, run.preview.end())
  } catch (error) {
    fault = importFault(faultOf(dependencies, error, signal), run, isPreview)
  } finally {
    await settle()
    if (!isPreview)
      await entries.end({ accepted: isDone ? run.accepted : run.sent, refused: run.refusedCount, isComplete: isDone })
  }
  yield html`${fault}${menus}`
}

const pause = async (): Promise<false> => {
  await new Promise(resolve => setTimeout(resolve, progressMs))
  return false
}

/** Read the sent form with its file. Returns the page of a refusal: of the rights, the size, or a form of another site. */
const readImport = async (
  { secret }: Pick<ConsoleDependencies, 'secret'>,
  raw: Request,
  request: Pick<ConsoleRequest, 'session' | 'csrf' | 'token'>,
): Promise<Upload | PageView> => {
  if (!mayImport(request)) return importPage(request, new Map(), { form: new URLSearchParams(), part: null })
  const upload = await readUpload(raw, request.session.accountId)
  if (upload === 'too_large') return tooLarge
  return upload !== null && isOwnForm(secret, request.token, upload.form.get('csrf') ?? '') ? upload : foreignFormPage
}

/** Answers of the import form. At most one per account runs. */
export const importAnswers = (dependencies: ConsoleDependencies) => {
  const share = fairShare(importLimits)
  return async (request: SignedInRequest, raw: Request): Promise<Response> => {
    const { session, at } = request
    const release = await share.acquire(session.accountId, never)
    if (release === null) return pageAnswer(busy, request)
    const stop = new AbortController()
    const end = (): void => {
      if (stop.signal.aborted) return
      stop.abort()
      release()
    }
    try {
      const sent = await readImport(dependencies, raw, request)
      if ('title' in sent) {
        end()
        return pageAnswer(sent, request)
      }
      const { file } = sent
      const answered = file === null ? null : { session, at, form: sent.form, file }
      const prepared = answered === null ? null : await prepareImport(dependencies, answered, stop.signal)
      const parts =
        answered === null || prepared === null
          ? oneOf(noFile)
          : importParts(dependencies, answered, prepared, stop.signal)
      if (raw.headers.has('x-part')) return streamAnswer(null, request, { parts, end })
      const sign = (subject: TokenGrant) => dependencies.bearerTokens.sign(subject, at)
      const names = await newestLocations(apiCallsOf(apiFor({ fetch: dependencies.fetch, sign }, session, [])))
      return streamAnswer(
        importPage(request, names, { form: prepared?.form ?? sent.form, part: partsMarker }),
        request,
        { parts, end },
      )
    } catch (error) {
      end()
      throw error
    }
  }
}

async function* oneOf(part: Html): AsyncGenerator<Html> {
  yield part
}

/** Answer of the page with the form of an import, and with the result of the last one. */
export const importForm =
  (stores: Pick<ConsoleDependencies, 'database' | 'at'>) =>
  async (request: ConsoleRequest): Promise<PageView> => {
    const part = mayImport(request) ? await lastImport(stores, request.session) : null
    const imports = mayImport(request) ? await importsOfDay(stores, request) : null
    return importPage(request, await newestLocations(request), { form: request.query, part, imports })
  }
