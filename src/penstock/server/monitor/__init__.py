"""The monitoring pages over HTTP: /varz, /connz, /subsz, /healthz."""
