import type { BearerTokens } from '../../platform/access/bearer-token.ts'
import { html } from '../ui-kit/html.ts'
import { type Fault, type FetchApi, logIn } from './api.ts'
import { isSecure, readOwnForm } from './forms.ts'
import { pageAnswer, redirect } from './page-answer.ts'
import { form, type PageView } from './page-frame.ts'
import { errorNotice, field, foreignFormPage } from './page-parts.ts'
import { cookieFor, formToken, newToken, type SessionDependencies, sessionSeconds, signIn, tokenOf } from './session.ts'

export const signInPath = '/console/sign-in'

type SignInDraft = { readonly account: string; readonly next: string; readonly fault: Fault | null }

/** A page of the console to go on to; anything else leads to the overview. */
const safeNext = (next: string | null): string =>
  next !== null && /^\/console(?:\/[\w/-]*)?$/.test(next) ? next : '/console'

const signInView = (csrf: string, { account, next, fault }: SignInDraft, status = 200): PageView => ({
  title: 'Sign in',
  status,
  body: html`<h1>Sign in</h1>
<p class="lead">With the account id and an API key of it. The key decides between live and test mode, and what you may do.</p>
${fault === null ? null : errorNotice(fault)}
${form(
  csrf,
  signInPath,
  html`<input type="hidden" name="next" value="${next}">
${field('account', 'Account id', { value: account, required: true, hint: 'acc_ and 24 letters and digits' })}
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
  /** What the HTTP adapter says of the socket. */
  readonly environment: unknown
}

const cookieOf = ({ token, isNew, isHttps }: Visitor) =>
  isNew ? { cookie: cookieFor('entry', token, { isHttps, maxAgeSeconds: null }) } : {}

/** A visitor without a token gets one, so that the form can be told from that of another site. */
const showSignIn = ({ secret }: SessionDependencies, visitor: Visitor, query: URLSearchParams): Response => {
  const csrf = formToken(secret, visitor.token)
  const signInDraft = { account: '', next: safeNext(query.get('next')), fault: null }
  return pageAnswer(signInView(csrf, signInDraft), signInPath, { session: null, csrf, ...cookieOf(visitor) })
}

const statusOfRefusal = (status: number): number => (status === 429 || status === 503 ? status : 401)

/** Sign a visitor in with what the form holds, under a token of its own; or show what is wrong with it. */
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
    message: 'The account id or the API key is wrong.',
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

/** Show the way in, or take who comes by it. */
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
