import type { BearerTokens } from '../../platform/access/bearer-token.ts'
import { html } from '../ui-kit/html.ts'
import { type Fault, type FetchApi, logIn } from './api.ts'
import { isSecure, readOwnForm } from './forms.ts'
import { form, type PageView, pageAnswer, redirect } from './page-frame.ts'
import { errorNotice, field, foreignFormPage } from './page-parts.ts'
import { cookieFor, formToken, newToken, type SessionDependencies, sessionSeconds, signIn, tokenOf } from './session.ts'

export const signInPath = '/console/sign-in'

type SignInDraft = { readonly account: string; readonly next: string; readonly fault: Fault | null }

/** Return the page after the sign-in. Addresses outside the console become the overview. */
const safeNext = (next: string | null): string =>
  next !== null && /^\/console(?:\/[\w/-]*)?$/.test(next) ? next : '/console'

const signInView = (csrf: string, { account, next, fault }: SignInDraft, status = 200): PageView => ({
  title: 'Sign in',
  status,
  body: html`<h1>Sign in</h1>
<p class="lead">Use your account ID and an API key. The key determines the mode (live or test) and your permissions.</p>
${fault === null ? null : errorNotice(fault)}
${form(
  csrf,
  signInPath,
  html`<input type="hidden" name="next" value="${next}">
${field('account', 'Account ID', { value: account, required: true, hint: 'acc_ and 24 characters' })}
${field('key', 'API key', { type: 'password', required: true, hint: 'sk_live_… or sk_test_…' })}
<button type="submit">Sign in</button>`,
)}`,
})

type SignInDependencies = SessionDependencies & {
  readonly fetch: FetchApi
  readonly bearerTokens: Pick<BearerTokens, 'verify'>
}

type Visitor = {
  readonly token: string
  readonly isNew: boolean
  readonly isHttps: boolean
  readonly headers: Headers
  /** Socket of the request, from the HTTP adapter. */
  readonly environment: unknown
}

const cookieOf = ({ token, isNew, isHttps }: Visitor) =>
  isNew ? { cookie: cookieFor('entry', token, { isHttps, maxAgeSeconds: null }) } : {}

/** Show the form. A visitor without a token receives one, because a form needs a token against other sites. */
const showSignIn = ({ secret }: SessionDependencies, visitor: Visitor, query: URLSearchParams): Response => {
  const csrf = formToken(secret, visitor.token)
  const signInDraft = { account: '', next: safeNext(query.get('next')), fault: null }
  return pageAnswer(signInView(csrf, signInDraft), signInPath, { session: null, csrf, ...cookieOf(visitor) })
}

const statusOfRefusal = (status: number): number => (status === 429 || status === 503 ? status : 401)

/** Create a session with the account and key of the form, or show the form with the error. */
const signInVisitor = async (
  dependencies: SignInDependencies,
  visitor: Visitor,
  postedForm: URLSearchParams,
  at: number,
): Promise<Response> => {
  const [account, key, next] = [
    postedForm.get('account')?.trim() ?? '',
    postedForm.get('key')?.trim() ?? '',
    safeNext(postedForm.get('next')),
  ]
  const csrf = formToken(dependencies.secret, visitor.token)
  const showAgain = (fault: Fault, status: number) =>
    pageAnswer(signInView(csrf, { account, next, fault }, status), signInPath, { session: null, csrf })
  const badCredentials: Fault = {
    code: 'bad_credentials',
    message: 'The account ID or the API key is wrong.',
    field: null,
  }
  const loginResult = await logIn(dependencies, { accountId: account, key }, visitor)
  if (!loginResult.ok)
    return showAgain(
      loginResult.fault.code === 'bad_credentials' ? badCredentials : loginResult.fault,
      statusOfRefusal(loginResult.status),
    )
  const claims = await dependencies.bearerTokens.verify(loginResult.value.bearer_token, at)
  if (!claims.ok) return showAgain(badCredentials, 401)
  const { accountId, liveMode, keyId } = claims.value
  const token = await signIn(dependencies, { accountId, liveMode, keyId }, at)
  return redirect(next, {
    cookie: cookieFor('session', token, { isHttps: visitor.isHttps, maxAgeSeconds: sessionSeconds }),
  })
}

/** Answer a request of the sign-in page. */
export const answerSignIn = async (
  dependencies: SignInDependencies,
  { request, environment }: { readonly request: Request; readonly environment: unknown },
  url: URL,
  at: number,
): Promise<Response> => {
  const token = tokenOf(request, 'entry')
  const { headers } = request
  const visitor = {
    token: token ?? newToken(),
    isNew: token === null,
    isHttps: isSecure(request, url),
    headers,
    environment,
  }
  if (request.method !== 'POST') return showSignIn(dependencies, visitor, url.searchParams)
  const postedForm = token === null ? null : await readOwnForm(request, dependencies.secret, token)
  return postedForm === null
    ? pageAnswer(foreignFormPage, signInPath, { session: null, csrf: '', ...cookieOf(visitor) })
    : signInVisitor(dependencies, visitor, postedForm, at)
}
