// Hosts of a page of MCP Apps in one window, each with one fault by its name: tests/browser/test_apps.py.
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src ";
window.calls = {};
function show(name, page, result) {
  const frame = document.createElement('iframe'), calls = window.calls[name] = [];
  const is = (fault) => fault === name;
  if (!is('no sandbox')) frame.sandbox = 'allow-scripts';
  const allowed = is('strict') ? "'none'" : 'https://declared.invalid';
  const policy = is('no policy') ? '' : `<meta http-equiv="Content-Security-Policy" content="${POLICY}${allowed}">`;
  const say = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const input = () => say({ method: 'ui/notifications/tool-input', params: { arguments: { word: 'a' } } });
  const outcome = () => say({ method: 'ui/notifications/tool-result', params: is('half a result') ? { content: result.content } : result });
  addEventListener('message', ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    switch (data.method) {
      case 'ui/initialize':
        if (is('no handshake')) return input();
        say({ id: data.id, result: { protocolVersion: '2026-01-26', hostInfo: { name: 'simulated', version: '1' }, hostCapabilities: { serverTools: {} }, hostContext: {} } });
        if (is('early')) input();
        return;
      case 'ui/notifications/initialized':
        if (is('result first')) outcome();
        if (!is('no input') && !is('early') && !is('no handshake')) input();
        if (is('twice')) input();
        if (!is('no result') && !is('result first')) outcome();
        if (is('farewell')) say({ id: 'bye', method: 'ui/resource-teardown', params: {} });
        return;
      case 'ui/notifications/size-changed':
        if (!is('no size')) frame.style.height = `${data.params.height}px`;
        return;
      case 'ui/request-display-mode':
        return say({ id: data.id, ...is('no mode') ? { error: { code: -32601, message: 'no' } } : { result: { mode: 'inline' } } });
      case 'tools/call':
        if (data.params.name === 'report' || is('calls')) { calls.push(data.params); return say({ id: data.id, result: {} }); }
        return say({ id: data.id, error: { code: -32000, message: 'not for pages' } });
    }
  });
  frame.style.border = '0';
  frame.srcdoc = page.replace('<head>', `<head>${policy}`);
  document.body.append(frame);
}
