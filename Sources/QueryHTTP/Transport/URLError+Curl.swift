import CCurl
import Foundation

extension URLError {
  /// - Parameters:
  ///   - code: What libcurl says of a transfer that has ended.
  ///   - text: How it says it; empty: nothing of this transfer alone.
  ///   - proxyStatus: What a proxy answered to the request for a tunnel; 0: none was asked.
  init(_ code: CURLcode, text: String, proxyStatus: Int = 0) {
    let text = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    let isRefusedTunnel = proxyStatus >= 300
    self.init(
      isRefusedTunnel ? .cannotConnectToHost : Self.code(of: code),
      userInfo: [NSLocalizedDescriptionKey: text])
  }

  /// The codes before `timedOut` say that nothing was sent.
  private static func code(of code: CURLcode) -> URLError.Code {
    switch code {
    case CURLE_URL_MALFORMAT: .badURL
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotFindHost
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .cannotConnectToHost
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED:
      .secureConnectionFailed
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS:
      .serverCertificateUntrusted
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CLIENTCERT: .clientCertificateRejected
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_ABORTED_BY_CALLBACK: .cannotOpenFile
    // Bytes that are not HTTP: libcurl takes them for a version of it that it does not speak.
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      .cannotParseResponse
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      .networkConnectionLost
    default: .badServerResponse
    }
  }
}
